import { MigrationError } from "../../lib/error.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { ownersAmong } from "../leases/nodes.ts";
import {
  createTold,
  createWatch,
  patiently,
  scanLeases,
  type Taking,
  takeFrom,
} from "./agent-round.ts";

export function createTaker(parts: Taking) {
  const { ttl, down, say, clock } = parts;
  const watch = createWatch(down, clock);
  const ending = new AbortController();
  const { signal } = ending;
  const ended = (): boolean => signal.aborted;
  /** When to resume unfinished moves of this host; null: none. */
  let goOnAt: number | null = 0;
  const leaves = (): void => {
    goOnAt ??= clock() + ttl;
  };
  const around = { parts, watch, told: createTold(say), ended, signal, leaves };
  const work = createWork();
  const hosts = createSilent(watch, clock);
  const { settled } = hosts;
  /** Whether to leave the next interval to other work, and whether to check settled hosts then. */
  let [rests, rechecks] = [false, false];

  async function takeAll(dead: readonly Lease[]): Promise<void> {
    for (const lease of dead) {
      const { host } = lease;
      const again = (): void => hosts.wait(host, clock() + ttl);
      try {
        const round = await takeFrom(around, lease);
        if (round === "all") settled.add(host);
        // Another host may take it, or an operator may solve the problem.
        else if (round === "left") again();
      } catch (error) {
        sayFailure(parts, host, error, ended());
        leaves();
        if (!isUnanswered(error)) again();
      }
    }
  }

  async function goOn(): Promise<void> {
    try {
      const done = await patiently({ ended, say }, () => parts.goOn(signal));
      if (done === null) return;
      if (done.left.length > 0) leaves();
      for (const { id, why } of done.left) around.told.left(`${id} was skipped: ${why}.`);
    } catch (error) {
      sayFailure(parts, "unfinished moves", error, ended());
      leaves();
    }
  }

  return {
    /**
     * Makes at most one statement, and takes over machines in the background.
     *
     * @param services all compute hosts in Nova
     * @returns whether it made a statement
     */
    async look(services: readonly ComputeHost[]): Promise<boolean> {
      watch.saw(services);
      const open = hosts.open();
      if (work.goesOn()) return false;
      if (goOnAt !== null && clock() >= goOnAt) {
        goOnAt = null;
        work.start(goOn);
        return true;
      }
      // After a look without result, the next interval is left to other work.
      if (rests || (open.length === 0 && settled.size === 0)) {
        rests = false;
        return false;
      }
      if (settled.size > 0 && (rechecks || open.length === 0)) {
        for (const host of await ownersAmong(parts.leases, [...settled])) settled.delete(host);
        [rests, rechecks] = [true, false];
        return true;
      }
      rechecks = true;
      const { held, dead } = await scanLeases(around);
      // A host without a lease may keep its machines until it reports with one.
      for (const host of open)
        if (!held.some((lease) => lease.host === host)) hosts.wait(host, Number.POSITIVE_INFINITY);
      const todo = dead.filter(({ host }) => open.includes(host));
      rests = todo.length === 0;
      if (!rests) work.start(() => takeAll(todo));
      return true;
    },
    settle: work.settle,
    /** Finishes the current machine, then stops. Kills the site's fence. */
    stop: (why: MigrationError): void => ending.abort(why),
    async end(): Promise<void> {
      // A site's fence may take ten minutes.
      ending.abort(new MigrationError("N2I-E301", `the agent of ${parts.host} is stopping`));
      await work.settle();
    },
  };
}

function createSilent(watch: ReturnType<typeof createWatch>, clock: () => number) {
  /** Without machines, until they report or receive a machine. */
  const settled = new Set<string>();
  /** Earliest time of the next attempt, unless they report. */
  const later = new Map<string, number>();
  return {
    settled,
    wait(host: string, until: number): void {
      later.set(host, until);
    },
    open(): readonly string[] {
      const { silent } = watch.word();
      for (const host of settled) if (!silent.has(host)) settled.delete(host);
      for (const [host, at] of later) if (!silent.has(host) || at <= clock()) later.delete(host);
      return [...silent].filter((host) => !settled.has(host) && !later.has(host));
    },
  };
}

/** Errors of the environment do not end the agent. @throws any other error */
function sayFailure({ say }: Pick<Taking, "say">, what: string, error: unknown, ends: boolean) {
  if (!(error instanceof MigrationError)) throw error;
  say(`Take-over of ${what}: ${error.message}.${ends ? "" : " Another attempt follows."}`);
}

function createWork() {
  let work: Promise<void> | null = null;
  let broken: { readonly cause: unknown } | null = null;
  return {
    /** @throws the error of the task, if it is a bug */
    goesOn(): boolean {
      if (broken !== null) throw broken.cause;
      return work !== null;
    },
    start(act: () => Promise<void>): void {
      work = act()
        .catch((cause: unknown) => {
          broken = { cause };
        })
        .finally(() => {
          work = null;
        });
    },
    settle: async () => {
      await work;
    },
  };
}
