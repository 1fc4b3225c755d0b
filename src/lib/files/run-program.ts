import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { MigrationError, systemCode } from "../error.ts";
import { atExit } from "./at-exit.ts";

export type Run = Awaited<ReturnType<typeof runProgram>>;

interface Program {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** In addition to PATH. The rest of our environment may contain secrets. */
  readonly environment: { readonly [name: string]: string };
  readonly fix: string;
}

/** Bytes of output: a list of 10,000 virtual machines has 40 MiB. */
const MOST = 64 * 1024 * 1024;
/** Characters of stderr, the last ones, because an error comes last. */
const MAX_STDERR = 16_384;
/** Milliseconds after the kill until its pipes are closed, which a grandchild may keep open. */
const LAST = 500;

/**
 * Runs a program in its own session, so that it cannot prompt on the terminal and its children are
 * killed with it. It is killed after `deadline` milliseconds.
 * @throws the signal's reason if aborted; MigrationError N2I-E400 if the program cannot be run
 */
export async function runProgram(
  { name, program, args, environment, fix }: Program,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
) {
  signal.throwIfAborted();
  const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
  const child = spawn(program, args, {
    env: { PATH, LC_ALL: "C", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const chunks: Buffer[] = [];
  let [size, stderr] = [0, ""];
  /** Why this process killed the program. */
  let stopped: "late" | "flood" | null = null;
  const stop = (reason: typeof stopped): void => {
    stopped ??= reason;
    killAll(child);
  };
  const timer = setTimeout(() => stop("late"), Math.max(1, deadline));
  const abort = (): void => stop(null);
  signal.addEventListener("abort", abort, { once: true });
  const cancelCleanup = atExit(() => killAll(child));
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST) return stop("flood");
    chunks.push(chunk);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  try {
    const [code] = await once(child, "close");
    signal.throwIfAborted();
    // Null if it was killed.
    const status = typeof code === "number" ? code : null;
    const stdout = Buffer.concat(chunks).toString("utf8");
    return { status, stdout, stderr, stopped };
  } catch (cause) {
    signal.throwIfAborted();
    const reason = `${name} cannot be run (${systemCode(cause) ?? "no code"})`;
    throw new MigrationError("N2I-E400", reason, { fix });
  } finally {
    cancelCleanup();
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The program has already ended.
  }
  setTimeout(() => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, LAST).unref();
}
