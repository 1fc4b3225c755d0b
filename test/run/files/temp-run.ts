import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { MigrationError } from "../../../src/lib/error.ts";
import type { RefusalCode } from "../../../src/lib/refusals.ts";
import { createArtefact } from "../../../src/run/files/artefact-writer.ts";
import { openRun, type RunFolder } from "../../../src/run/files/run-folder.ts";
import { smallDisk } from "../../support/small-disk.ts";

export async function tempRun(t: TestContext): Promise<RunFolder> {
  const path = mkdtempSync(join(tmpdir(), "n2i disk-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return openRun(path, { create: false });
}

export async function mountedRun(t: TestContext, options: string): Promise<RunFolder> {
  return openRun(smallDisk(t, options), { create: false });
}

/** Whether `error` is this refusal; its message must hold `words`. */
export function refuses(code: RefusalCode, words = ""): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof MigrationError) || error.code !== code) throw error;
    if (!`${error.message} / ${error.fix}`.includes(words)) throw error;
    return true;
  };
}

export async function writePlan(run: RunFolder, lines: readonly object[]): Promise<string> {
  const writer = await createArtefact(run, "machines.jsonl", { format: "nova2ironic/machines@1" });
  for (const line of lines) await writer.write(line);
  await writer.finish({ machines: lines.length });
  return join(run.path, "machines.jsonl");
}

export async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, "utf8")));
}

/** Starts a program of this folder on the run, and waits for its first words. */
export async function started(program: string, run: RunFolder) {
  const file = fileURLToPath(new URL(`./${program}.js`, import.meta.url));
  const child = spawn(process.execPath, [file, run.path], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  const kill9 = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid ?? 0, kill9 };
}
