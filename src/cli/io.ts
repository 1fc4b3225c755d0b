import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable, Writable } from "node:stream";
import { type Environment, type Surroundings, surrounded } from "../stages/surroundings.ts";

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a command has of the world it was started in. Nothing else in `cli` names the process. */
export interface Io {
  /** The words behind the program's name. */
  readonly words: readonly string[];
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  readonly cwd: () => string;
  /** The exit status a command leaves; undefined is 0. */
  status: number | undefined;
}

const scope = new AsyncLocalStorage<Io>();

/**
 * Runs a command whose every line, also that of a timer, is written to these streams.
 *
 * @param own what its stages have besides
 */
export function within<T>(
  io: Io,
  own: Pick<Surroundings, "tell" | "wait" | "onInterrupt">,
  work: () => T,
): T {
  return scope.run(io, () => {
    const files = { connections: new Map(), kept: new Map(), window: {} };
    const world = { env: io.env, cwd: io.cwd, ...files, ...own };
    return surrounded(world, work);
  });
}

/** The world of the command under way; the process itself outside of one. */
export function io(): Io {
  return scope.getStore() ?? processIo;
}

export const processIo: Io = {
  words: process.argv.slice(2),
  // Read when it is used: opening stdin may keep a process alive.
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  env: process.env,
  cwd: () => process.cwd(),
  get status() {
    return typeof process.exitCode === "number" ? process.exitCode : undefined;
  },
  set status(status) {
    process.exitCode = status;
  },
};

/** Whether stderr is for machines. */
export function isForMachines(): boolean {
  return io().words.includes("--json");
}
