import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import type { SkippedRow } from "../../model/change.ts";
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
  createAlarm,
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

/** @param clock monotonic milliseconds @throws MigrationError as `openLegacyClients` */
export async function openTaker(
  options: TakeOptions & { readonly host: string; readonly ttl: number },
  around: Pick<Taking, "leases" | "services" | "report"> & { readonly clock: () => number },
  keep: Keep,
) {
  const { leases, report, clock } = around;
  const { host, ttl, run = "", fenceCommand } = options;
  await openRun(run, { create: true });
  const clients = await openLegacyClients(options, keep, { readOnly: false }, report);
  const down = await downTime(options);
  const ending = new AbortController();
  const { signal } = ending;
  /** One run per dead host, which can be inspected and rolled back separately. */
  const takeIn = (name: string, from: string, nodes: readonly string[]): Promise<Taken> =>
    inRun(
      join(run, name),
      "host agent",
      { kind: "takeover", variant: "baremetal", create: true },
      async (folder) => {
        await saveOptions(folder, "host", options);
        const request = { from, to: host, agent: host, nodes, down, signal };
        return takeMachines(folder, clients, request, { report });
      },
    );
  return createTaker(
    {
      ...{ ...around, host, signal, aggregates: clients.aggregates },
      ...{ watch: createWatch(down, clock), alarm: createAlarm(report) },
      fence: (from) =>
        askFence(
          { ...(fenceCommand !== undefined && { fenceCommand }), from, run },
          signal,
          around,
        ),
      take: ({ host: from, epoch }, nodes) =>
        takeIn(`${encodeURIComponent(from)}-${epoch}`, from, nodes),
    },
    { clock, ttl: ttl * 1000, ending },
    () => finishMoves(leases, host, run, (name, from) => takeIn(name, from, [])),
  );
}

/** Finishes the moves of all runs in the folder. Returns the machines that remain unfinished. */
async function finishMoves(
  leases: Database,
  host: string,
  run: string,
  finish: (name: string, from: string) => Promise<Taken>,
): Promise<Taken> {
  const skipped: SkippedRow[] = [];
  for (const entry of await readdir(run, { withFileTypes: true })) {
    const { name } = entry;
    const from = entry.isDirectory() ? deadIn(name) : null;
    if (from === null || !(await isOpen(join(run, name)))) continue;
    try {
      skipped.push(...(await finish(name, from)).skipped);
    } catch (error) {
      // A bad folder must not stop others.
      if (!(error instanceof MigrationError) || isUnanswered(error)) throw error;
      skipped.push({ id: `run:${name}`, reason: error.message });
    }
  }
  const reported = new Set(skipped.map(({ id }) => id));
  const unfinished = (await unfinishedMoves(leases, host)).filter(
    (uuid) => !reported.has(`machine:${uuid}`),
  );
  const locks = unfinished.length === 0 ? [] : await takenLocks(leases);
  for (const uuid of unfinished) {
    const lock = locks.find(({ resource }) => resource === `node:${uuid.toLowerCase()}`);
    const whose = lock === undefined ? "another run" : lock.owner;
    const late = lock !== undefined && lock.remaining <= 0 ? ", whose lock has expired" : "";
    const reason = `its move is unfinished, by ${whose}${late}`;
    skipped.push({ id: `machine:${uuid}`, reason });
  }
  return { skipped };
}

/** Machines with an unfinished move to the host. */
async function unfinishedMoves(leases: Database, host: string): Promise<readonly string[]> {
  const mine = "bm_nodes WHERE service_host = ? AND task_state = 'migrating' ORDER BY id";
  return (await read(leases, { uuid: text }, mine, [host])).flatMap(({ uuid }) => uuid ?? []);
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

/** Lines of skipped machines that are remembered, because each is reported once. */
const LINES = 1000;

interface Timing {
  readonly clock: () => number;
  /** Milliseconds until the next attempt. */
  readonly ttl: number;
  readonly ending: AbortController;
}

/** @param finish resumes unfinished moves of this host */
function createTaker(
  parts: Omit<Taking, "skip">,
  { clock, ttl, ending }: Timing,
  finish: () => Promise<Taken>,
) {
  const work = createWork();
  const reported = new Set<string>();
  /** When to resume unfinished moves of this host; null: none. */
  let finishAt: number | null = 0;
  const { settled, waits, openHosts } = createSilent(parts.watch, clock);
  /** Whether to leave the next interval to other work, and whether to check settled hosts then. */
  let [rests, rechecks] = [false, false];
  const taking: Taking = {
    ...parts,
    skip(line) {
      finishAt ??= clock() + ttl;
      if (reported.size === LINES) reported.clear();
      if (!reported.has(line)) parts.report(line);
      reported.add(line);
    },
  };

  /** Errors of the environment do not end the agent. @throws any other error */
  function reportFailure(what: string, error: unknown): void {
    if (!(error instanceof MigrationError)) throw error;
    const again = ending.signal.aborted ? "" : " Another attempt follows.";
    parts.report(`Takeover of ${what}: ${error.message}.${again}`);
    finishAt ??= clock() + ttl;
  }

  async function finishAll(): Promise<void> {
    try {
      const done = await patiently(taking, finish);
      for (const { id, reason } of done?.skipped ?? [])
        taking.skip(`${id} was skipped: ${reason}.`);
    } catch (error) {
      reportFailure("unfinished moves", error);
    }
  }

  async function takeAll(dead: readonly Lease[]): Promise<void> {
    for (const lease of dead) {
      try {
        const round = await takeFrom(taking, lease);
        if (round === "all") settled.add(lease.host);
        // Another host may take over the machines, or an operator may solve the problem.
        else if (round === "left") waits.set(lease.host, clock() + ttl);
      } catch (error) {
        reportFailure(lease.host, error);
        if (!isUnanswered(error)) waits.set(lease.host, clock() + ttl);
      }
    }
  }

  return {
    /** Makes at most one statement for all compute hosts in Nova. @returns whether it made one */
    async attempt(services: readonly ComputeHost[]): Promise<boolean> {
      parts.watch.saw(services);
      const open = openHosts();
      if (await work.isRunning()) return false;
      if (finishAt !== null && clock() >= finishAt) {
        finishAt = null;
        work.start(finishAll);
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
      const { all, dead } = await scanLeases(taking);
      // A host without a lease may keep its machines until it reports with one.
      for (const host of open)
        if (!all.some((lease) => lease.host === host)) waits.set(host, Number.POSITIVE_INFINITY);
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

function createSilent(watch: Taking["watch"], clock: () => number) {
  /** Hosts without machines, until they report or receive a machine. */
  const settled = new Set<string>();
  /** Earliest time of the next attempt, unless the host reports. */
  const waits = new Map<string, number>();
  const openHosts = (): readonly string[] => {
    const { silent } = watch.state();
    for (const host of settled) if (!silent.has(host)) settled.delete(host);
    for (const [host, at] of waits) if (!silent.has(host) || at <= clock()) waits.delete(host);
    return [...silent].filter((host) => !settled.has(host) && !waits.has(host));
  };
  return { settled, waits, openHosts };
}

function createWork() {
  let work: Promise<unknown> = Promise.resolve();
  let isRunning = false;
  return {
    /** @throws the error of the last task, if it is a bug */
    async isRunning(): Promise<boolean> {
      if (!isRunning) await work;
      return isRunning;
    },
    start(act: () => Promise<void>): void {
      isRunning = true;
      work = act().finally(() => {
        isRunning = false;
      });
      work.catch(() => undefined); // `isRunning` throws it
    },
    settle: async () => {
      await work.catch(() => undefined);
    },
  };
}
