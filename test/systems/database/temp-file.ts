import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import type { RefusalCode } from "../../../src/lib/refusals.ts";

/** Writes files into a folder of the test's own, which goes when the test ends. */
export type Write = (name: string, content: string | Uint8Array, mode?: number) => Promise<string>;

export async function tempFolder(t: TestContext): Promise<{ folder: string; write: Write }> {
  const folder = await mkdtemp(join(tmpdir(), "nova2ironic-"));
  t.after(() => rm(folder, { recursive: true }));
  return {
    folder,
    write: async (name, content, mode = 0o600) => {
      const path = join(folder, name);
      await writeFile(path, content, { mode });
      return path;
    },
  };
}

/** For assert.rejects and assert.throws: the code, and what the message must and must not say. */
export function refusal(code: RefusalCode, says: RegExp, hides = "pa55"): (e: unknown) => boolean {
  return (error) =>
    error instanceof MigrationError &&
    error.code === code &&
    says.test(error.message) &&
    !`${error.message} ${error.fix} ${error.stack}`.includes(hides);
}
