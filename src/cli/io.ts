import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable, Writable } from "node:stream";
import type { BmcAt } from "../model/power.ts";
import {
  type Environment,
  type ProcessContext,
  processContext,
  settle,
  surrounded,
} from "../run/process-context.ts";

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Host {
  readonly on: (signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void) => unknown;
  readonly off: (signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void) => unknown;
  readonly exit: (status: number) => void;
}

/** The environment of a command. In `cli`, only main uses the global `process`. */
export interface Io {
  readonly argv: readonly string[];
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Environment;
  readonly cwd: () => string;
  readonly host: Host;
  /** Location of the simulated BMC for an address; absent: every BMC is at its address. */
  readonly bmcAt?: BmcAt;
  /** Clock for BMC timeouts and progress; absent: the system clock. */
  readonly clock?: NonNullable<ProcessContext["clock"]>;
  status: number | undefined;
}

const scope = new AsyncLocalStorage<Io>();

/** The environment of the process, for code outside a command: signals and lost streams. */
let outside: Io | undefined;

/** Runs a command with these streams, including its timers. @param hooks hooks for its stages */
export function within<T>(
  io: Io,
  hooks: Pick<ProcessContext, "report" | "wait" | "onInterrupt">,
  work: () => T,
): T {
  const files = { connections: new Map(), saved: new Map(), window: {} };
  const { env, cwd, bmcAt, clock } = io;
  const merged = { env, cwd, ...(bmcAt && { bmcAt }), ...(clock && { clock }), ...files, ...hooks };
  if (io !== outside) return scope.run(io, () => surrounded(merged, work));
  settle(merged);
  return work();
}

/** The environment of the current command; outside a command, that of the process. */
export function io(): Io {
  const found = scope.getStore() ?? outside;
  if (found === undefined) throw new Error("no command is running");
  return found;
}

/** The environment of a process, used from now on outside a command. */
export function ioOf(host: NodeJS.Process): Io {
  outside = {
    argv: host.argv.slice(2),
    // A getter, because opening stdin may keep a process alive.
    get stdin() {
      return host.stdin;
    },
    stdout: host.stdout,
    stderr: host.stderr,
    env: host.env,
    cwd: processContext().cwd,
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
  return io().argv.includes("--json");
}
