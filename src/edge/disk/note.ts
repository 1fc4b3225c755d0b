import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Json } from "../../model/json.ts";
import { notWritten } from "./failure.ts";
import type { RunFolder } from "./run-folder.ts";
import { createTemp } from "./temp-file.ts";

/** A note of the run that nothing depends on: what is missing or spoilt is null. */
export async function readNote({ path }: RunFolder, name: string): Promise<Json> {
  try {
    const read: unknown = JSON.parse(await readFile(join(path, name), "utf8"));
    return read as Json; // what JSON.parse gives is that
  } catch {
    return null;
  }
}

/** Writes it whole, or leaves what was there. @throws MigrationError N2I-E120 */
export async function writeNote({ path }: RunFolder, name: string, note: Json): Promise<void> {
  const temp = await createTemp(path, name);
  try {
    await temp.handle.writeFile(`${JSON.stringify(note, null, 2)}\n`);
  } catch (cause) {
    await temp.drop();
    throw notWritten(join(path, name), cause);
  }
  await temp.commit();
}
