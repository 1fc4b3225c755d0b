import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { MigrationError } from "../lib/error.ts";
import { runProgram } from "../lib/files/run-program.ts";
import { quote } from "../lib/quotes.ts";
import type { RunFolder } from "./files/run-folder.ts";
import { processContext } from "./process-context.ts";
import type { Sink } from "./sink.ts";
import type { RunStage } from "./stages.ts";

/** Last output lines of a hook to show and log, with masked secrets. */
const MAX_LINES = 200;

/**
 * Runs `hooks/<when>-<stage>` of the run, if it exists, as the operator, without a shell and
 * without our environment, which may contain passwords.
 * @param seconds maximum time
 * @returns false if stopped on request
 * @throws MigrationError N2I-E329 if it fails, exceeds its time, or is writable by others
 */
export async function runHook(
  { path }: RunFolder,
  when: "before" | "after",
  stage: RunStage,
  seconds: number,
  { report }: Pick<Sink, "report">,
): Promise<boolean> {
  const hook = `hooks/${when}-${stage}`;
  const program = join(path, hook);
  if (!existsSync(program)) return true;
  checkOwner(join(path, "hooks"), "hooks");
  checkOwner(program, hook);
  const env = { NOVA2IRONIC_RUN: path, NOVA2IRONIC_STAGE: stage };
  const { signal, stopping, end } = processContext().onInterrupt();
  try {
    report(`Hook ${hook}: started.`);
    const script = { name: hook, program, args: [], env };
    const { lines, fault } = await runScript(script, seconds, signal);
    for (const line of lines.slice(-MAX_LINES)) report(`Hook ${hook}: ${quote(line)}`);
    if (fault !== null) throw failed(hook, fault);
    return true;
  } catch (cause) {
    if (stopping()) return false;
    throw cause;
  } finally {
    end();
  }
}

/**
 * Runs the operator's own program with HOME and the given variables.
 * @returns lines of its output, which may have secrets, and why it failed, if it did
 */
export async function runScript(
  {
    env,
    ...script
  }: Omit<Parameters<typeof runProgram>[0], "environment" | "fix"> & {
    readonly env: { readonly [name: string]: string };
  },
  seconds: number,
  signal: AbortSignal,
): Promise<{ readonly lines: readonly string[]; readonly fault: string | null }> {
  const { HOME = "/" } = processContext().env;
  const fix = `Run chmod u+x ${script.program}, and begin its first line with #! and the interpreter.`;
  const { status, stdout, stderr, stopped } = await runProgram(
    { ...script, environment: { HOME, ...env }, fix },
    { deadline: seconds * 1000, signal },
  );
  const lines = `${stdout}\n${stderr}`.split("\n").filter(Boolean);
  if (stopped === "late") return { lines, fault: `took longer than ${seconds} s` };
  const ended = status === 0 && stopped === null;
  return { lines, fault: ended ? null : `ended with ${status ?? "a signal"}` };
}

/** Other users must not be able to change a program that runs as the operator. */
function checkOwner(path: string, name: string): void {
  const { uid, mode } = statSync(path);
  if (uid !== 0 && uid !== (process.getuid?.() ?? uid))
    throw failed(name, `belongs to another user (uid ${uid})`);
  if ((mode & 0o022) !== 0) throw failed(name, "is writable by other users (chmod go-w)");
}

function failed(hook: string, fault: string): MigrationError {
  return new MigrationError("N2I-E329", `${hook} ${fault}`);
}
