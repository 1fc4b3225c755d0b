import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { counted, duration } from "../../lib/text.ts";
import { isUp } from "../../migrate/hosts/rules/running.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import { readJournal } from "../../run/files/journal.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { now as moment, rest } from "../../run/process-context.ts";
import { movedMachines } from "../baremetal/steps/legacy-started.ts";
import type { judgeLeases } from "../rules/successors.ts";

/** Milliseconds until a lock is tried again, longer with each attempt. */
const PACE = 100;
const LONGEST_PACE = 5_000;
/** Milliseconds until waiting for a lock is reported, doubled by each report. */
const REPORT = 60_000;

/** Reports the wait after one minute, two, four and so on. Null if it was stopped. */
export async function patiently<T>(
  signal: AbortSignal,
  report: (text: string) => void,
  act: () => Promise<T>,
): Promise<T | null> {
  const [since, began] = [`${new Date().toISOString().slice(0, 19)}Z`, moment()];
  let due = REPORT;
  for (let tried = 1; !signal.aborted; tried += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof MigrationError && isLocked(error))) throw error;
      const waited = moment() - began;
      if (waited >= due) {
        report(`Waiting since ${since} (${duration(waited / 1000)}): ${error.message}.`);
        due *= 2;
      }
      await rest(Math.min(tried * PACE, LONGEST_PACE));
    }
  }
  return null;
}

export function isLocked({ exit }: MigrationError): boolean {
  return exit === EXIT_STATUS.locked.status;
}

/** Reports the beginning and the end of an alarm. */
export function createAlarm(report: (text: string) => void) {
  let reported = "";
  return ({ alarm, of }: ReturnType<typeof judgeLeases>): void => {
    const names = alarm.join(", ");
    if (names !== reported)
      report(
        names === ""
          ? "ALARM ended: most leases are renewed again."
          : `ALARM: the leases of ${names} expired at the same time, ${alarm.length} of ${counted(of, "unfenced host")}. No further host is taken over. Check the clock and the network of the database.`,
      );
    reported = names;
  };
}

/**
 * An age depends on the host's clock, so this process also watches each host.
 *
 * @param down seconds without a report after which a nova-compute is down
 * @param clock monotonic milliseconds
 */
export function createWatch(down: number, clock: () => number) {
  const reports = new Map<string, { readonly count: number | null; readonly since: number }>();
  let services: readonly ComputeHost[] = [];
  const hostsWith = (matches: (service: ComputeHost) => boolean): ReadonlySet<string> =>
    new Set(services.filter(matches).map(({ host }) => host));
  /** Hosts without machines, until they report or receive a machine. */
  const settled = new Set<string>();
  /** Earliest time of the next attempt, unless the host reports. */
  const waits = new Map<string, number>();
  /** Silent hosts, including one that reported in the future because of a wrong clock. */
  const silent = () =>
    hostsWith(
      (one) =>
        !isUp(one, down) && clock() - (reports.get(one.host)?.since ?? clock()) >= down * 1000,
    );
  return {
    ...{ settled, waits },
    saw(now: readonly ComputeHost[]): void {
      services = now;
      for (const { host, report_count } of now)
        if (reports.get(host)?.count !== report_count)
          reports.set(host, { count: report_count, since: clock() });
      const current = hostsWith(() => true);
      for (const host of reports.keys()) if (!current.has(host)) reports.delete(host);
    },
    state: () => ({ live: hostsWith(() => true), silent: silent() }),
    /** Hosts that Nova schedules to. */
    fit: () =>
      hostsWith((one) => isUp(one, down) && one.disabled !== true && one.forced_down !== true),
    /** Silent hosts that may be taken over now. */
    open(): readonly string[] {
      const now = silent();
      for (const host of settled) if (!now.has(host)) settled.delete(host);
      for (const [host, at] of waits) if (!now.has(host) || at <= clock()) waits.delete(host);
      return [...now].filter((host) => !settled.has(host) && !waits.has(host));
    },
  };
}

/** Names of runs with unfinished moves, and their dead hosts. */
export async function openRuns(folder: string) {
  const found: { readonly name: string; readonly from: string }[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const { name } = entry;
    const from = entry.isDirectory() ? deadIn(name) : null;
    if (from === null) continue;
    const run = openRun(join(folder, name), { create: false });
    const journal = await orNull(run.then(readJournal));
    // An unclaimed machine may have a guard. An unreadable run is reported.
    const open = journal && movedMachines(journal.entries, { unfinished: true });
    if (open === null || open.length > 0) found.push({ name, from });
  }
  return found;
}

function deadIn(name: string): string | null {
  const [, from] = /^(.+)-\d+$/.exec(name) ?? [];
  try {
    return from === undefined ? null : decodeURIComponent(from);
  } catch {
    return null; // not a folder of this agent
  }
}
