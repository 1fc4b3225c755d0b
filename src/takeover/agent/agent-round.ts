import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { counted, duration } from "../../lib/text.ts";
import { isUp } from "../../migrate/hosts/rules/running.ts";
import type { SkippedRow } from "../../model/change.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import { now as moment, rest } from "../../run/process-context.ts";
import type { Database } from "../../systems/database/open.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { fenceLease, readLeases } from "../leases/leases.ts";
import { keepLocks } from "../leases/locks.ts";
import { nodesOf } from "../leases/nodes.ts";
import { shareOf } from "../rules/destination.ts";
import { isLive, judgeLeases, successorsOf } from "../rules/successors.ts";

export interface Taking {
  readonly leases: Database;
  readonly host: string;
  /** Duration of a lease in milliseconds. */
  readonly ttl: number;
  /** Seconds without a report after which a nova-compute is considered down. */
  readonly down: number;
  readonly report: (text: string) => void;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly services: () => Promise<readonly ComputeHost[]>;
  /** The site's fence. @throws MigrationError unless the host is certainly down */
  readonly fence: ((host: string, signal: AbortSignal) => Promise<void>) | null;
  /** Host -> its aggregates; null if unknown. */
  readonly aggregates: () => Promise<ReadonlyMap<string, readonly number[]> | null>;
  readonly goOn: (signal: AbortSignal) => Promise<Taken>;
  /** @throws MigrationError `locked` if another process works on the machines */
  readonly take: (dead: Lease, nodes: readonly string[], signal: AbortSignal) => Promise<Taken>;
}

export interface Taken {
  readonly skipped: readonly SkippedRow[];
}

interface Around {
  readonly parts: Taking;
  readonly watch: ReturnType<typeof createWatch>;
  readonly reporter: ReturnType<typeof createReporter>;
  readonly ended: () => boolean;
  readonly signal: AbortSignal;
  /** Called for a skipped machine, whose move may be unfinished. */
  readonly onSkipped: () => void;
}

/** Machines per pass. @source systems.md A4: periodic_max_workers of Ironic */
const PASS = 8;
/** Lifetime of the host lock while the host is being fenced, in milliseconds. */
const LOCK = 30_000;
/** Milliseconds until a lock is tried again, longer with each attempt. */
const PACE = 100;
const LONGEST_PACE = 5_000;
/** Milliseconds until waiting for a lock is reported, doubled by each report. */
const REPORT = 60_000;

/** One statement. Returns no dead hosts if this host must not act. */
export async function scanLeases({ parts, watch, reporter, ended }: Around) {
  const leases = await readLeases(parts.leases);
  const judged = judgeLeases(leases, watch.state());
  const mine = leases.find(({ host }) => host === parts.host);
  reporter.alarm(judged);
  return { leases, dead: !ended() && isLive(mine) ? judged.dead : [] };
}

/** As `scanLeases`, with Nova's current state, which may have changed during a wait. */
async function scanNow(around: Around) {
  around.watch.saw(await around.parts.services());
  return scanLeases(around);
}

/** @throws MigrationError if a database does not answer, or the site's fence fails */
export async function takeFrom(around: Around, lease: Lease): Promise<"all" | "left" | "others"> {
  const { parts, watch, reporter, ended, signal, onSkipped } = around;
  const { leases, host } = parts;
  const from = lease.host;
  // Without machines, a host is not fenced.
  if ((await machinesOf(leases, from)).length === 0) return "all";
  if (lease.fenced_by === null && !(await fenceHost(around, from))) return "others";
  const nodes = await machinesOf(leases, from);
  const aggregates = await parts.aggregates();
  const processed = new Set<string>();
  for (;;) {
    const { leases, dead } = await scanNow(around);
    const now = dead.find((one) => one.host === from);
    if (now === undefined || now.fenced_by === null) return "others";
    const successors = successorsOf(from, leases, watch.fit(), aggregates);
    const mine = shareOf(host, nodes, successors).filter((node) => !processed.has(node));
    const some = mine.slice(0, PASS);
    if (some.length === 0) break;
    for (const node of some) processed.add(node);
    const done = await patiently({ ended, report: parts.report }, () =>
      withoutRefusal(around, from, parts.take(now, some, signal)),
    );
    if (done === null) return "others";
    if (done.skipped.length > 0) onSkipped();
    for (const { id, reason } of done.skipped)
      reporter.reportSkipped(`${id} of ${from} was skipped: ${reason}.`);
  }
  if ((await machinesOf(leases, from)).length === 0) return "all";
  return processed.size > 0 ? "left" : "others";
}

/** A refusal for some machines must not stop the takeover of the others. */
async function withoutRefusal(
  { reporter, onSkipped }: Pick<Around, "reporter" | "onSkipped">,
  from: string,
  taking: Promise<Taken>,
): Promise<Taken> {
  try {
    return await taking;
  } catch (error) {
    if (!(error instanceof MigrationError) || isLocked(error) || isUnanswered(error)) throw error;
    onSkipped();
    reporter.reportSkipped(`Machines of ${from} were skipped: ${error.message}.`);
    return { skipped: [] };
  }
}

/** Reports the wait after one minute, two, four and so on. Null if it was stopped. */
export async function patiently<T>(
  { ended, report }: Pick<Around, "ended"> & Pick<Taking, "report">,
  act: () => Promise<T>,
): Promise<T | null> {
  const [since, began] = [`${new Date().toISOString().slice(0, 19)}Z`, moment()];
  let due = REPORT;
  for (let tried = 1; !ended(); tried += 1) {
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

function isLocked({ exit }: MigrationError): boolean {
  return exit === EXIT_STATUS.locked.status;
}

/** Fences under a lock. Returns whether the host is fenced, also by another agent. */
async function fenceHost(around: Around, from: string): Promise<boolean> {
  const { parts, ended, signal } = around;
  const { leases, host, report } = parts;
  const request = { owner: `agent of ${host}`, ttl: LOCK };
  const lock = () => keepLocks(leases, [`host:${from}`], request);
  const locks = await patiently({ ended, report }, lock);
  if (locks === null) return false;
  try {
    // The wait for the lock, or the site's fence, may have taken minutes.
    const before = await readAgain(around, from);
    if (before?.fenced_by !== null) return before !== null;
    await parts.fence?.(from, signal);
    await locks.renew();
    const now = await readAgain(around, from);
    if (now === null || now.epoch !== before.epoch) return false;
    if (!(await fenceLease(leases, now, host))) return false;
    report(`${from} is dead: fenced by ${host}.`);
    return true;
  } finally {
    await locks.release();
  }
}

/** The lease of a host that is still dead and has machines for this host, or null. */
async function readAgain(around: Around, from: string): Promise<Lease | null> {
  const { parts, watch, ended } = around;
  const { leases, dead } = await scanNow(around);
  const lease = dead.find(({ host }) => host === from);
  if (lease === undefined || ended()) return null;
  const successors = successorsOf(from, leases, watch.fit(), await parts.aggregates());
  const mine = shareOf(parts.host, await machinesOf(parts.leases, from), successors);
  return mine.length > 0 ? lease : null;
}

async function machinesOf(leases: Database, host: string): Promise<readonly string[]> {
  const nodes: string[] = [];
  for await (const page of nodesOf(leases, host)) for (const { uuid } of page) nodes.push(uuid);
  return nodes;
}

const LINES = 1000;

export function createReporter(report: (text: string) => void) {
  let alarm = "";
  const reported = new Set<string>();
  return {
    alarm({ alarm: hosts, of }: Pick<ReturnType<typeof judgeLeases>, "alarm" | "of">): void {
      const names = hosts.join(", ");
      if (names !== alarm)
        report(
          names === ""
            ? "ALARM ended: most leases are renewed again."
            : `ALARM: the leases of ${names} expired at the same time, ${hosts.length} of ${counted(of, "unfenced host")}. No further host is taken over. Check the clock and the network of the database.`,
        );
      alarm = names;
    },
    reportSkipped(line: string): void {
      if (reported.size === LINES) reported.clear();
      if (!reported.has(line)) report(line);
      reported.add(line);
    },
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
  return {
    saw(now: readonly ComputeHost[]): void {
      services = now;
      for (const { host, report_count } of now)
        if (reports.get(host)?.count !== report_count)
          reports.set(host, { count: report_count, since: clock() });
      const current = new Set(now.map(({ host }) => host));
      for (const host of reports.keys()) if (!current.has(host)) reports.delete(host);
    },
    /** Silent hosts, including one that reported in the future because of a wrong clock. */
    state() {
      const silent = services.filter(
        (service) =>
          !isUp(service, down) &&
          clock() - (reports.get(service.host)?.since ?? clock()) >= down * 1000,
      );
      return {
        live: new Set(services.map(({ host }) => host)),
        silent: new Set(silent.map(({ host }) => host)),
      };
    },
    /** Hosts that Nova schedules to. */
    fit(): ReadonlySet<string> {
      const fit = services.filter(
        (service) =>
          isUp(service, down) && service.disabled !== true && service.forced_down !== true,
      );
      return new Set(fit.map(({ host }) => host));
    },
  };
}
