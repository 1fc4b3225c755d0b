import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../lib/error.ts";
import type { Timers } from "../lib/ipmi/index.ts";
import type { DatabasePlace } from "../model/database.ts";
import type { BmcAt } from "../model/power.ts";

/** Variables a stage may read. */
export type Environment = { readonly [name: string]: string | undefined };

/** As an option wants it. */
export type Connection = string | number | boolean | readonly string[];

/** A request to stop, from whoever may make one. */
export interface Interrupt {
  readonly stopping: () => boolean;
  /** Aborted by the first request, at once. */
  readonly signal: AbortSignal;
  /** Nothing has to come to a good place any more. */
  readonly end: () => void;
}

/** The databases of a rehearsal by their option: the database of the plan that each replaces. No other is opened. */
export type Copies = ReadonlyMap<string, DatabasePlace>;

export interface Surroundings {
  readonly env: Environment;
  readonly cwd: () => string;
  /** Where simulated BMCs are; absent: every BMC is where its address says. */
  readonly bmcAt?: BmcAt;
  /** By which BMCs and reports of hosts are waited for and progress is measured; absent: the system's. */
  readonly clock?: Timers;
  /** What the file of connections says, by option: no command line has to repeat it. */
  readonly connections: Map<string, Connection>;
  /** What runs have saved of options, by their folders: `connections.yaml` as it is now. */
  readonly saved: Map<string, ReadonlyMap<string, Connection>>;
  /** Why this command may write outside of its run's window; absent: it may not. */
  readonly window: { outside?: string };
  /** Of a rehearsal; absent outside of one. */
  readonly copies?: Copies;
  /** Says a line that no stage's result has. */
  readonly tell: (text: string) => void;
  readonly wait: (text: string) => void;
  /**
   * From here on a request to stop waits until what acts has come to a good place.
   *
   * @param service what serves others says so in its own words, and SIGHUP does not stop it
   */
  readonly onInterrupt: (service?: ServiceSignals) => Interrupt;
}

/** What signals mean to what serves others. */
export interface ServiceSignals {
  readonly stopping: string;
  readonly reload: () => void;
}

const scope = new AsyncLocalStorage<Surroundings>();

/** Runs stages in these surroundings, whatever they start. */
export function surrounded<T>(surroundings: Surroundings, work: () => T): T {
  return scope.run(surroundings, work);
}

/**
 * Gives them to the whole process, which runs one command: nothing has to be carried through every
 * promise, which on Node 20 and 22 takes a tenth of a command's time.
 */
export function settle(surroundings: Surroundings): void {
  own = surroundings;
}

/** Where nobody gave any: the process's variables, silence, and nobody who asks to stop. */
export function surroundings(): Surroundings {
  return scope.getStore() ?? own;
}

let own: Surroundings = {
  env: process.env,
  cwd: workingDirectory(),
  connections: new Map(),
  saved: new Map(),
  window: {},
  tell: () => undefined,
  wait: () => undefined,
  onInterrupt: () => ({
    ...{ stopping: () => false, signal: new AbortController().signal, end: () => undefined },
  }),
};

/** Packages read it while they are loaded, and a command says afterwards that it is deleted. */
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

/** Milliseconds since some moment; never goes back. */
export function now(): number {
  const { clock = performance } = surroundings();
  return clock.now();
}

/** Waits so many milliseconds of the same clock. */
export async function rest(milliseconds: number): Promise<void> {
  const { clock } = surroundings();
  if (clock === undefined) await sleep(milliseconds);
  else await new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
}
