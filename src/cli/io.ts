import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable, Writable } from "node:stream";
import type { BmcAt } from "../model/power.ts";
import {
  type Environment,
  type Surroundings,
  settle,
  surrounded,
  surroundings,
} from "../run/process-context.ts";

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Host {
  readonly on: (signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void) => unknown;
  readonly off: (signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void) => unknown;
  readonly exit: (status: number) => void;
}

/** What a command has of the world it was started in. Nothing in `cli` but main names the process. */
export interface Io {
  /** The words behind the program's name. */
  readonly words: readonly string[];
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  readonly cwd: () => string;
  readonly host: Host;
  /** Where a simulated BMC of this address is; absent: every BMC is where its address says. */
  readonly bmcAt?: BmcAt;
  /** By which BMCs are waited for and progress is measured; absent: the system's. */
  readonly clock?: NonNullable<Surroundings["clock"]>;
  /** The exit status a command leaves; undefined is 0. */
  status: number | undefined;
}

const scope = new AsyncLocalStorage<Io>();

/** The world of the process, which its signals and lost streams find no command's in. */
let outside: Io | undefined;

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
  const files = { connections: new Map(), saved: new Map(), window: {} };
  const { env, cwd, bmcAt, clock } = io;
  const world = { env, cwd, ...(bmcAt && { bmcAt }), ...(clock && { clock }), ...files, ...own };
  if (io !== outside) return scope.run(io, () => surrounded(world, work));
  settle(world);
  return work();
}

/** The world of the command under way; that of the process outside of one. */
export function io(): Io {
  const found = scope.getStore() ?? outside;
  if (found === undefined) throw new Error("no command is under way");
  return found;
}

/** The world of a process, from here on that of whatever runs in it outside of a command. */
export function ioOf(host: NodeJS.Process): Io {
  outside = {
    words: host.argv.slice(2),
    // Read when it is used: opening stdin may keep a process alive.
    get stdin() {
      return host.stdin;
    },
    get stdout() {
      return host.stdout;
    },
    get stderr() {
      return host.stderr;
    },
    env: host.env,
    cwd: surroundings().cwd,
    host,
    get status() {
      return typeof host.exitCode === "number" ? host.exitCode : undefined;
    },
    set status(status) {
      host.exitCode = status;
    },
  };
  return outside;
}

export function isForMachines(): boolean {
  return io().words.includes("--json");
}
