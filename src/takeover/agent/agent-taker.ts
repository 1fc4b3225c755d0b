import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import type { Keep } from "../../run/databases.ts";
import { askFence } from "../../run/fence-command.ts";
import { readJournal } from "../../run/files/journal.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { text } from "../../systems/database/rows.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { type LegacyInputs, openLegacyClients } from "../baremetal/legacy-clients.ts";
import { openIn, takeMachines } from "../baremetal/legacy-take.ts";
import { type DownOptions, downTime } from "../host-watch.ts";
import { takenLocks } from "../leases/locks.ts";
import { ownersAmong } from "../leases/nodes.ts";
import {
  createReporter,
  createWatch,
  patiently,
  scanLeases,
  type Taken,
  type Taking,
  takeFrom,
} from "./agent-round.ts";

export interface TakeOptions extends LegacyInputs, DownOptions {
  readonly novaBmDb: string;
  readonly novaDb: string;
  readonly take: boolean;
  /** Folder of the runs, one per dead host. */
  readonly run?: string;
  readonly fenceCommand?: string;
}

/** @throws MigrationError as `openLegacyClients` */
export async function openTaker(
  options: TakeOptions & { readonly host: string; readonly ttl: number },
  around: Pick<Taking, "leases" | "services" | "report" | "clock">,
  keep: Keep,
) {
  const { leases, report } = around;
  const { host, ttl, run = "", fenceCommand } = options;
  await openRun(run, { create: true });
  const clients = await openLegacyClients(options, keep, { readOnly: false }, report);
  const down = await downTime(options);
  /** One run per dead host, which can be inspected and rolled back separately. */
  const inDeath = (
    name: string,
    take: Pick<Parameters<typeof takeMachines>[2], "from" | "nodes" | "signal">,
  ) =>
    inRun(
      join(run, name),
      "host agent",
      { kind: "takeover", variant: "baremetal", create: true },
      async (folder) => {
        await saveOptions(folder, "host", options);
        return takeMachines(folder, clients, { ...take, to: host, agent: host, down }, { report });
      },
    );
  return createTaker({
    ...around,
    ...{ host, ttl: ttl * 1000, down },
    fence:
      fenceCommand === undefined
        ? null
        : (from, signal) => askFence({ fenceCommand, from, run }, signal, { report }),
    aggregates: clients.aggregates,
    async goOn(signal) {
      const taken: Taken[] = [];
      for (const [name, from] of await unfinishedIn(run))
        taken.push(await refusedAs(name, inDeath(name, { from, nodes: [], signal })));
      const skipped = taken.flatMap((one) => one.skipped);
      const reported = new Set(skipped.map(({ id }) => id));
      const unfinished = (await unfinishedMoves(leases, host)).filter(
        (uuid) => !reported.has(`machine:${uuid}`),
      );
      const locks = unfinished.length === 0 ? [] : await takenLocks(leases);
      for (const uuid of unfinished) {
        const lock = locks.find(({ resource }) => resource === `node:${uuid.toLowerCase()}`);
        const whose = lock === undefined ? "another run" : lock.owner;
        const late = lock !== undefined && lock.remaining <= 0 ? ", whose lock has expired" : "";
        skipped.push({
          id: `machine:${uuid}`,
          reason: `its move is unfinished, by ${whose}${late}`,
        });
      }
      return { skipped };
    },
    take: ({ host: from, epoch }, nodes, signal) =>
      inDeath(`${encodeURIComponent(from)}-${epoch}`, { from, nodes, signal }),
  });
}

/** Machines with an unfinished move to the host. */
async function unfinishedMoves(leases: Database, host: string): Promise<readonly string[]> {
  const mine = "bm_nodes WHERE service_host = ? AND task_state = 'migrating' ORDER BY id";
  return (await read(leases, { uuid: text }, mine, [host])).flatMap(({ uuid }) => uuid ?? []);
}

/** Unfinished runs, with the hosts that their machines leave. */
async function unfinishedIn(run: string): Promise<ReadonlyMap<string, string>> {
  const open = new Map<string, string>();
  for (const entry of await readdir(run, { withFileTypes: true })) {
    const from = entry.isDirectory() ? deadIn(entry.name) : null;
    if (from !== null && (await isOpen(join(run, entry.name)))) open.set(entry.name, from);
  }
  return open;
}

/** An unclaimed machine may have a guard. An unreadable run counts as unfinished to report it. */
async function isOpen(path: string): Promise<boolean> {
  const journal = await orNull(openRun(path, { create: false }).then(readJournal));
  return journal === null || openIn(journal.entries).length > 0;
}

function deadIn(name: string): string | null {
  const [, from] = /^(.+)-\d+$/.exec(name) ?? [];
  try {
    return from === undefined ? null : decodeURIComponent(from);
  } catch {
    return null; // not a folder of this agent
  }
}

/** A bad folder must not stop others. @throws MigrationError if a database does not answer */
async function refusedAs(name: string, taking: Promise<Taken>): Promise<Taken> {
  try {
    return await taking;
  } catch (error) {
    if (!(error instanceof MigrationError) || isUnanswered(error)) throw error;
    return { skipped: [{ id: `run:${name}`, reason: error.message }] };
  }
}

const NONE = { skipped: [] };

function createTaker(parts: Taking) {
  const { ttl, down, report, clock } = parts;
  const watch = createWatch(down, clock);
  const ending = new AbortController();
  const { signal } = ending;
  const ended = (): boolean => signal.aborted;
  /** When to resume unfinished moves of this host; null: none. */
  let goOnAt: number | null = 0;
  const onSkipped = (): void => {
    goOnAt ??= clock() + ttl;
  };
  const around = { parts, watch, reporter: createReporter(report), ended, signal, onSkipped };
  const work = createWork();
  const { settled, ...hosts } = createSilent(watch, clock);
  /** Whether to leave the next interval to other work, and whether to check settled hosts then. */
  let [rests, rechecks] = [false, false];

  async function takeAll(dead: readonly Lease[]): Promise<void> {
    for (const lease of dead) {
      const { host } = lease;
      const again = (): void => hosts.wait(host, clock() + ttl);
      try {
        const round = await takeFrom(around, lease);
        if (round === "all") settled.add(host);
        // Another host may take over the machines, or an operator may solve the problem.
        else if (round === "left") again();
      } catch (error) {
        reportFailure(parts, host, error, ended());
        onSkipped();
        if (!isUnanswered(error)) again();
      }
    }
  }

  async function goOn(): Promise<void> {
    try {
      const { skipped } = (await patiently({ ended, report }, () => parts.goOn(signal))) ?? NONE;
      if (skipped.length > 0) onSkipped();
      for (const { id, reason } of skipped)
        around.reporter.reportSkipped(`${id} was skipped: ${reason}.`);
    } catch (error) {
      reportFailure(parts, "unfinished moves", error, ended());
      onSkipped();
    }
  }

  return {
    /** Makes at most one statement for all compute hosts in Nova. @returns whether it made one */
    async attempt(services: readonly ComputeHost[]): Promise<boolean> {
      watch.saw(services);
      const open = hosts.open();
      if (work.isRunning()) return false;
      if (goOnAt !== null && clock() >= goOnAt) {
        goOnAt = null;
        work.start(goOn);
        return true;
      }
      // After an attempt without result, the next interval is left to other work.
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
      const { leases: alive, dead } = await scanLeases(around);
      // A host without a lease may keep its machines until it reports with one.
      const leased = new Set(alive.map(({ host }) => host));
      for (const host of open) if (!leased.has(host)) hosts.wait(host, Number.POSITIVE_INFINITY);
      const todo = dead.filter(({ host }) => open.includes(host));
      rests = todo.length === 0;
      if (!rests) work.start(() => takeAll(todo));
      return true;
    },
    settle: work.settle,
    /** Finishes the current machine, then stops. Kills the site's fence. */
    stop: (error: MigrationError): void => ending.abort(error),
    async end(): Promise<void> {
      // A site's fence may take ten minutes.
      ending.abort(new MigrationError("N2I-E301", `the agent of ${parts.host} is stopping`));
      await work.settle();
    },
  };
}

function createSilent(watch: ReturnType<typeof createWatch>, clock: () => number) {
  /** Hosts without machines, until they report or receive a machine. */
  const settled = new Set<string>();
  /** Earliest time of the next attempt, unless they report. */
  const later = new Map<string, number>();
  return {
    settled,
    wait(host: string, until: number): void {
      later.set(host, until);
    },
    open(): readonly string[] {
      const { silent } = watch.state();
      for (const host of settled) if (!silent.has(host)) settled.delete(host);
      for (const [host, at] of later) if (!silent.has(host) || at <= clock()) later.delete(host);
      return [...silent].filter((host) => !settled.has(host) && !later.has(host));
    },
  };
}

/** Errors of the environment do not end the agent. @throws any other error */
function reportFailure(
  { report }: Pick<Taking, "report">,
  what: string,
  error: unknown,
  ends: boolean,
) {
  if (!(error instanceof MigrationError)) throw error;
  report(`Takeover of ${what}: ${error.message}.${ends ? "" : " Another attempt follows."}`);
}

function createWork() {
  let work: Promise<void> | null = null;
  let broken: { readonly cause: unknown } | null = null;
  return {
    /** @throws the error of the task, if it is a bug */
    isRunning(): boolean {
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
