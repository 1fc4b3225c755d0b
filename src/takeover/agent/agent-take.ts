import { MigrationError } from "../../lib/error.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { ownersAmong } from "../leases/nodes.ts";
import { createTold, patiently, scanLeases, type Taking, takeFrom } from "./agent-round.ts";
import { createWatch, type Watch } from "./agent-watch.ts";

/** Takes dead hosts' machines over, beside the heartbeat. */
interface Taker {
  /**
   * Looks for dead hosts, by one statement at most; what it finds is done meanwhile.
   *
   * @param services of all compute hosts, as Nova has them now
   * @returns whether it asked
   */
  readonly look: (services: readonly ComputeHost[]) => Promise<boolean>;
  /** Waits for what it has begun. */
  readonly settle: () => Promise<void>;
  /** Takes nothing more from now on: a machine that is under way comes to its end, and the site's fence is killed. */
  readonly stop: (why: MigrationError) => void;
  /** The same, and waits for what it has begun. */
  readonly end: () => Promise<void>;
}

export function createTaker(parts: Taking): Taker {
  const { ttl, down, say, clock } = parts;
  const watch = createWatch(down, clock);
  const ending = new AbortController();
  const { signal } = ending;
  const ended = (): boolean => signal.aborted;
  /** When to go on with what is half way here, as this host died over it or left it; null: it is done. */
  let goOnAt: number | null = 0;
  const leaves = (): void => {
    goOnAt ??= clock() + ttl;
  };
  const around = { parts, watch, told: createTold(say), ended, signal, leaves };
  const work = createWork();
  const hosts = createSilent(watch, clock);
  const { settled, unleased } = hosts;
  /** Whether the next interval is others', and whether settled hosts are looked at then. */
  let [rests, rechecks] = [false, false];

  async function takeAll(dead: readonly Lease[]): Promise<void> {
    for (const lease of dead) {
      const { host } = lease;
      const again = (): void => hosts.wait(host, clock() + ttl);
      try {
        const round = await takeFrom(around, lease);
        if (round === "all") settled.add(host);
        // Others may take it, or a person mend it.
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
      for (const { id, why } of done.left) around.told.left(`${id} was left: ${why}.`);
    } catch (error) {
      sayFailure(parts, "what was begun", error, ended());
      leaves();
    }
  }

  return {
    async look(services) {
      watch.saw(services);
      const open = hosts.open();
      if (work.goesOn()) return false;
      if (goOnAt !== null && clock() >= goOnAt) {
        goOnAt = null;
        work.start(goOn);
        return true;
      }
      // A look that found nothing to do leaves the next interval to others.
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
      // Without a lease nothing says what it may keep; with its first one it reports.
      for (const host of open) if (!held.some((lease) => lease.host === host)) unleased.add(host);
      const todo = dead.filter(({ host }) => open.includes(host));
      rests = todo.length === 0;
      if (!rests) work.start(() => takeAll(todo));
      return true;
    },
    settle: work.settle,
    stop: (why) => ending.abort(why),
    async end() {
      // A site's fence may take ten minutes: whoever ends the agent does not wait for it.
      ending.abort(new MigrationError("N2I-E301", `the agent of ${parts.host} ends`));
      await work.settle();
    },
  };
}

/** Hosts that are silent, and why some of them are not looked at now. */
function createSilent(watch: Watch, clock: () => number) {
  /** Nothing is left to take, until they report again, or somebody gives them a machine. */
  const settled = new Set<string>();
  /** They have no lease, until they report again. */
  const unleased = new Set<string>();
  /** They are not tried again before. */
  const later = new Map<string, number>();
  return {
    ...{ settled, unleased },
    wait(host: string, until: number): void {
      later.set(host, until);
    },
    /** Those of which something may be left to do now. */
    open(): readonly string[] {
      const { silent } = watch.word();
      for (const known of [settled, unleased])
        for (const host of known) if (!silent.has(host)) known.delete(host);
      for (const [host, at] of later) if (!silent.has(host) || at <= clock()) later.delete(host);
      return [...silent].filter(
        (host) => !settled.has(host) && !unleased.has(host) && !later.has(host),
      );
    },
  };
}

/** Problems of the world end no agent. @throws what is none */
function sayFailure({ say }: Pick<Taking, "say">, what: string, error: unknown, ends: boolean) {
  if (!(error instanceof MigrationError)) throw error;
  say(`Take-over of ${what}: ${error.message}.${ends ? "" : " It is tried again."}`);
}

/** One thing that goes on at a time, beside who started it. */
function createWork() {
  let work: Promise<void> | null = null;
  let broken: { readonly cause: unknown } | null = null;
  return {
    /** @throws what it ended with, where that is a fault of ours */
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
