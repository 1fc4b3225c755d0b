import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../lib/error.ts";
import type { Timers } from "../lib/ipmi/index.ts";
import type { DatabaseLocation } from "../model/database.ts";
import type { BmcAt } from "../model/power.ts";

export type Environment = { readonly [name: string]: string | undefined };

/** Value of an option. */
export type Connection = string | number | boolean | readonly string[];

/** A request to stop. */
export interface Interrupt {
  readonly stopping: () => boolean;
  /** Aborted at the first request. */
  readonly signal: AbortSignal;
  /** The next request stops the process immediately. */
  readonly end: () => void;
}

export interface ProcessContext {
  readonly env: Environment;
  readonly cwd: () => string;
  /** Addresses of simulated BMCs. Absent: real addresses. */
  readonly bmcAt?: BmcAt;
  /** Clock for BMCs, heartbeats and progress. Absent: the system's. */
  readonly clock?: Timers;
  /** Options of the connection file. */
  readonly connections: Map<string, Connection>;
  /** Saved options of runs by folder: `connections.yaml`. */
  readonly saved: Map<string, ReadonlyMap<string, Connection>>;
  /** Reason to write outside the window. Absent: not allowed. */
  readonly window: { outside?: string };
  /** Milliseconds for a statement without an answer. Absent: the default. */
  databaseTimeout?: number;
  /** Databases of a rehearsal by option, with the originals. No other database is opened. */
  readonly copies?: ReadonlyMap<string, DatabaseLocation>;
  /** Reports a line that is not part of a result. */
  readonly report: (text: string) => void;
  readonly wait: (text: string) => void;
  /**
   * From now on, a request to stop waits until the current change is complete.
   * @param service messages of a service, which SIGHUP does not stop
   */
  readonly onInterrupt: (service?: ServiceSignals) => Interrupt;
}

export interface ServiceSignals {
  readonly stopping: string;
  readonly reload: () => void;
}

const scope = new AsyncLocalStorage<ProcessContext>();

export function surrounded<T>(processContext: ProcessContext, work: () => T): T {
  return scope.run(processContext, work);
}

/**
 * Sets the context of the process, which runs one command. An AsyncLocalStorage in every promise
 * would take a tenth of its time on Node 20 and 22.
 */
export function settle(processContext: ProcessContext): void {
  context = processContext;
}

/** Default: the process's variables, no output, no requests to stop. */
export function processContext(): ProcessContext {
  return scope.getStore() ?? context;
}

let context: ProcessContext = {
  env: process.env,
  cwd: workingDirectory(),
  connections: new Map(),
  saved: new Map(),
  window: {},
  report: () => undefined,
  wait: () => undefined,
  onInterrupt: () => ({
    ...{ stopping: () => false, signal: new AbortController().signal, end: () => undefined },
  }),
};

/** Packages read the working directory when they are loaded, so an error comes later. */
function workingDirectory(): () => string {
  try {
    process.cwd();
    return () => process.cwd();
  } catch {
    process.chdir("/");
    return () => {
      throw new MigrationError("N2I-E110", "the working directory does not exist", {
        fix: "Change to a folder that exists, then run the same command again.",
      });
    };
  }
}

/** Monotonic milliseconds. */
export function now(): number {
  const { clock = performance } = processContext();
  return clock.now();
}

/** Waits for milliseconds of the same clock. */
export async function rest(milliseconds: number): Promise<void> {
  const { clock } = processContext();
  if (clock === undefined) await sleep(milliseconds);
  else await new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
}

/** Milliseconds before the first message, and between messages. */
const FIRST = 2000;
const AGAIN = 30_000;

/** Reports work without progress that takes longer than a moment. */
export async function waitingFor<T>(action: string, work: () => Promise<T>): Promise<T> {
  const { wait } = processContext();
  const began = Date.now();
  let timer: NodeJS.Timeout;
  const report = (): void => {
    wait(`Still ${action}: ${Math.round((Date.now() - began) / 1000)} s so far.`);
    timer = setTimeout(report, AGAIN).unref();
  };
  timer = setTimeout(report, FIRST).unref();
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
