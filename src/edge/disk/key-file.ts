import { randomBytes } from "node:crypto";
import { type FileHandle, open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MigrationError, systemCode } from "../../model/error.ts";
import { shellWord } from "../../model/text.ts";
import { notWritten } from "./failure.ts";
import { syncFolder } from "./temp-file.ts";

const HEADER = "nova2ironic/key@1";
const FORM = /^nova2ironic\/key@1\n([0-9a-f]{64})\n$/;
const USUAL_NAME = "secret.key";

/**
 * The 32 bytes that seal this run's secrets; makes the file when there is none.
 *
 * @throws MigrationError N2I-E115 when the file is no key or others may read it, N2I-E120
 */
export async function readOrMakeKey(runFolder: string, keyFile?: string): Promise<Buffer> {
  const path = keyFile ?? join(runFolder, USUAL_NAME);
  const key = randomBytes(32);
  let handle: FileHandle;
  try {
    handle = await open(path, "wx", 0o600);
  } catch (cause) {
    // A key on a read-only medium is there to be read; opening it for writing fails first.
    const there = await stat(path).catch(() => null);
    if (there !== null || systemCode(cause) === "EEXIST") return readKey(runFolder, keyFile);
    throw notWritten(path, cause);
  }
  try {
    await handle.writeFile(`${HEADER}\n${key.toString("hex")}\n`);
    await handle.sync();
  } catch (cause) {
    await rm(path, { force: true }).catch(() => undefined);
    throw notWritten(path, cause);
  } finally {
    await handle.close().catch(() => undefined);
  }
  await syncFolder(dirname(path));
  return key;
}

/**
 * The key of a run that has one: what opens secrets never makes a key.
 *
 * @throws MigrationError N2I-E115 when it is missing, no key, or others may read it
 */
export async function readKey(runFolder: string, keyFile?: string): Promise<Buffer> {
  const path = keyFile ?? join(runFolder, USUAL_NAME);
  const unread = (cause: unknown): never => {
    if (systemCode(cause) === "ENOENT") throw refusal(`${path} is missing`);
    const why = systemCode(cause) ?? "it cannot be read";
    throw new MigrationError("N2I-E115", `cannot read ${path}: ${why}`, { cause });
  };
  const found = await stat(path).catch(unread);
  if (!found.isFile()) throw refusal(`${path} is not a regular file`);
  if ((found.mode & 0o077) !== 0) {
    const fix = `Run: chmod 600 ${shellWord(path)}; if others may have read it, change the BMC passwords.`;
    throw refusal(`${path} is open to other users (mode ${(found.mode & 0o777).toString(8)})`, fix);
  }
  if (found.size === 0) {
    const fix = `A run that was killed may have left it: rm ${shellWord(path)}, then run extract again.`;
    throw refusal(`${path} is empty`, fix);
  }
  const text = found.size > 4096 ? "" : await readFile(path, "latin1").catch(unread);
  const [, hex] = FORM.exec(text) ?? [];
  if (hex === undefined) throw refusal(`${path} is not a key of this tool (${HEADER})`);
  return Buffer.from(hex, "hex");
}

function refusal(message: string, fix?: string): MigrationError {
  return new MigrationError("N2I-E115", message, fix === undefined ? {} : { fix });
}
