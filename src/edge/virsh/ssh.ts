import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { MigrationError } from "../../model/error.ts";
import { atExit } from "../process/at-exit.ts";

/** How a run of ssh ended. */
export interface Run {
  /** Null when it was killed. */
  readonly status: number | null;
  readonly stdout: string;
  /** Its end: what went wrong comes last. */
  readonly stderr: string;
  /** Why we killed it, if we did. */
  readonly stopped: "late" | "flood" | null;
}

interface RunOptions {
  /** Milliseconds from now. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** For its standard input, which is empty without it. */
  readonly input?: string;
}

/** Bytes of output: 10,000 machines have 40 MiB. */
const MOST = 64 * 1024 * 1024;
/** Characters kept of what it says on stderr. */
const MOST_WORDS = 16_384;
/** Milliseconds a killed ssh has until we stop listening to whoever holds its pipes. */
const LAST = 500;

/**
 * Runs ssh once, in a session of its own: no terminal to ask on, and what it starts dies with it.
 *
 * @throws the signal's reason when it is aborted; MigrationError N2I-E400 when there is no ssh
 */
export async function runSsh(
  program: string,
  args: readonly string[],
  environment: { readonly [name: string]: string },
  { deadline, signal, input }: RunOptions,
): Promise<Run> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    env: inherited(environment),
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  // It may end without reading.
  child.stdin.on("error", () => undefined).end(input);
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  let stopped: Run["stopped"] = null;
  const stop = (why: Run["stopped"]): void => {
    stopped ??= why;
    killAll(child);
  };
  const abort = (): void => stop(null);
  signal.addEventListener("abort", abort, { once: true });
  const gone = atExit(abort);
  const timer = setTimeout(() => stop("late"), Math.max(1, deadline));
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST) return stop("flood");
    chunks.push(chunk);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MOST_WORDS);
  });
  try {
    const [status] = await once(child, "close");
    signal.throwIfAborted();
    const stdout = Buffer.concat(chunks).toString("utf8");
    return { status: typeof status === "number" ? status : null, stdout, stderr, stopped };
  } catch (cause) {
    signal.throwIfAborted();
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
    throw new MigrationError("N2I-E400", `ssh cannot be run (${code})`, {
      fix: "Install the package openssh-client, then run power again.",
    });
  } finally {
    clearTimeout(timer);
    gone();
    signal.removeEventListener("abort", abort);
  }
}

/** Nothing else of our environment: there may be secrets in it. */
function inherited(environment: { readonly [name: string]: string }): {
  readonly [name: string]: string;
} {
  const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin", HOME } = process.env;
  return { PATH, LC_ALL: "C", ...(HOME !== undefined && { HOME }), ...environment };
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
  setTimeout(() => {
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, LAST).unref();
}
