import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { MigrationError, systemCode } from "../error.ts";
import { atExit } from "./at-exit.ts";

/** How a run of a program ended. */
export interface Run {
  /** Null when it was killed. */
  readonly status: number | null;
  readonly stdout: string;
  /** Its end: what went wrong comes last. */
  readonly stderr: string;
  /** Why we killed it, if we did. */
  readonly stopped: "late" | "flood" | null;
}

/** What is run, and how. */
interface Program {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Besides the PATH: nothing else of our environment goes along, there may be secrets in it. */
  readonly environment: { readonly [name: string]: string };
  /** What to do where it is not there. */
  readonly fix: string;
}

interface Limits {
  /** Milliseconds from now until it is killed. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Bytes of output: a list of 10,000 virtual machines has 40 MiB. */
const MOST = 64 * 1024 * 1024;
/** Characters kept of what it says on stderr. */
const MOST_WORDS = 16_384;
/** Milliseconds a killed program has until we stop listening to whoever holds its pipes. */
const LAST = 500;

/**
 * Runs a program once, in a session of its own: no terminal to ask on, and what it starts dies with it.
 *
 * @throws the signal's reason when it is aborted; MigrationError N2I-E400 when it cannot be run
 */
export async function runProgram(
  { name, program, args, environment, fix }: Program,
  { deadline, signal }: Limits,
): Promise<Run> {
  signal.throwIfAborted();
  const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
  const child = spawn(program, args, {
    env: { PATH, LC_ALL: "C", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const chunks: Buffer[] = [];
  let [size, stderr] = [0, ""];
  let stopped: Run["stopped"] = null;
  const stop = (why: Run["stopped"]): void => {
    stopped ??= why;
    killAll(child);
  };
  const timer = setTimeout(() => stop("late"), Math.max(1, deadline));
  const abort = (): void => stop(null);
  signal.addEventListener("abort", abort, { once: true });
  const gone = atExit(() => killAll(child));
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST) return stop("flood");
    chunks.push(chunk);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MOST_WORDS);
  });
  try {
    const [code] = await once(child, "close");
    signal.throwIfAborted();
    const status = typeof code === "number" ? code : null;
    const stdout = Buffer.concat(chunks).toString("utf8");
    return { status, stdout, stderr, stopped };
  } catch (cause) {
    signal.throwIfAborted();
    const why = `${name} cannot be run (${systemCode(cause) ?? "no code"})`;
    throw new MigrationError("N2I-E400", why, { fix });
  } finally {
    gone();
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
  setTimeout(() => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, LAST).unref();
}
