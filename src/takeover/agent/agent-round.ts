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
import { isLive, judgeLeases, shareOf, successorsOf } from "../rules/successors.ts";
import type { MoveTarget } from "../target.ts";

export interface Taking {
  readonly leases: Database;
  readonly host: string;
  readonly report: (text: string) => void;
  readonly services: () => Promise<readonly ComputeHost[]>;
  /** The site's fence. @throws MigrationError unless the host is certainly down */
  readonly fence: (host: string) => Promise<void>;
  readonly aggregates: MoveTarget["aggregates"];
  /** @throws MigrationError `locked` if another process works on the machines */
  readonly take: (dead: Lease, nodes: readonly string[]) => Promise<Taken>;
  readonly watch: ReturnType<typeof createWatch>;
  readonly alarm: ReturnType<typeof createAlarm>;
  /** Aborted if the agent must not act. */
  readonly signal: AbortSignal;
  /** Reports a skipped machine, whose move may be unfinished. */
  readonly skip: (line: string) => void;
}

export interface Taken {
  readonly skipped: readonly SkippedRow[];
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
export async function scanLeases({ leases, host, watch, alarm, signal }: Taking) {
  const all = await readLeases(leases);
  const judged = judgeLeases(all, watch.state());
  alarm(judged);
  const mayAct = !signal.aborted && isLive(all.find((lease) => lease.host === host));
  return { all, dead: mayAct ? judged.dead : [] };
}

/** As `scanLeases`, with Nova's current state, which may have changed during a wait. */
async function scanNow(taking: Taking) {
  taking.watch.saw(await taking.services());
  return scanLeases(taking);
}

/** @throws MigrationError if a database does not answer, or the site's fence fails */
export async function takeFrom(taking: Taking, lease: Lease): Promise<"all" | "left" | "others"> {
  const { leases, host, watch, skip } = taking;
  const from = lease.host;
  // Without machines, a host is not fenced.
  if ((await machinesOf(leases, from)).length === 0) return "all";
  if (lease.fenced_by === null && !(await fenceHost(taking, from))) return "others";
  const nodes = await machinesOf(leases, from);
  const aggregates = await taking.aggregates();
  const processed = new Set<string>();
  for (;;) {
    const { all, dead } = await scanNow(taking);
    const now = dead.find((one) => one.host === from);
    if (now === undefined || now.fenced_by === null) return "others";
    const mine = shareOf(host, nodes, successorsOf(from, all, watch.fit(), aggregates));
    const some = mine.filter((node) => !processed.has(node)).slice(0, PASS);
    if (some.length === 0) break;
    for (const node of some) processed.add(node);
    const done = await patiently(taking, () => takeSome(taking, now, some));
    if (done === null) return "others";
    for (const { id, reason } of done.skipped) skip(`${id} of ${from} was skipped: ${reason}.`);
  }
  if ((await machinesOf(leases, from)).length === 0) return "all";
  return processed.size > 0 ? "left" : "others";
}

/** A refusal for some machines must not stop the takeover of the others. */
async function takeSome(
  { take, skip }: Taking,
  dead: Lease,
  nodes: readonly string[],
): Promise<Taken> {
  try {
    return await take(dead, nodes);
  } catch (error) {
    if (!(error instanceof MigrationError) || isLocked(error) || isUnanswered(error)) throw error;
    skip(`Machines of ${dead.host} were skipped: ${error.message}.`);
    return { skipped: [] };
  }
}

/** Reports the wait after one minute, two, four and so on. Null if it was stopped. */
export async function patiently<T>(
  { signal, report }: Pick<Taking, "signal" | "report">,
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

function isLocked({ exit }: MigrationError): boolean {
  return exit === EXIT_STATUS.locked.status;
}

/** Fences under a lock. Returns whether the host is fenced, also by another agent. */
async function fenceHost(taking: Taking, from: string): Promise<boolean> {
  const { leases, host, report, fence } = taking;
  const holder = { owner: `agent of ${host}`, ttl: LOCK };
  const locks = await patiently(taking, () => keepLocks(leases, [`host:${from}`], holder));
  if (locks === null) return false;
  try {
    // The wait for the lock, or the site's fence, may have taken minutes.
    const before = await readAgain(taking, from);
    if (before?.fenced_by !== null) return before !== null;
    await fence(from);
    await locks.renew();
    const now = await readAgain(taking, from);
    if (now === null || now.epoch !== before.epoch) return false;
    if (!(await fenceLease(leases, now, host))) return false;
    report(`${from} is dead: fenced by ${host}.`);
    return true;
  } finally {
    await locks.release();
  }
}

/** The lease of a host that is still dead and has machines for this host, or null. */
async function readAgain(taking: Taking, from: string): Promise<Lease | null> {
  const { leases, host, watch, signal } = taking;
  const { all, dead } = await scanNow(taking);
  const lease = dead.find((one) => one.host === from);
  if (lease === undefined || signal.aborted) return null;
  const successors = successorsOf(from, all, watch.fit(), await taking.aggregates());
  const mine = shareOf(host, await machinesOf(leases, from), successors);
  return mine.length > 0 ? lease : null;
}

async function machinesOf(leases: Database, host: string): Promise<readonly string[]> {
  const nodes: string[] = [];
  for await (const page of nodesOf(leases, host)) for (const { uuid } of page) nodes.push(uuid);
  return nodes;
}

/** Reports the beginning and the end of an alarm. */
export function createAlarm(report: (text: string) => void) {
  let reported = "";
  return ({ alarm, of }: Pick<ReturnType<typeof judgeLeases>, "alarm" | "of">): void => {
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
      return { live: hostsOf(services), silent: hostsOf(silent) };
    },
    /** Hosts that Nova schedules to. */
    fit: (): ReadonlySet<string> =>
      hostsOf(
        services.filter(
          (service) =>
            isUp(service, down) && service.disabled !== true && service.forced_down !== true,
        ),
      ),
  };
}

function hostsOf(services: readonly ComputeHost[]): ReadonlySet<string> {
  return new Set(services.map(({ host }) => host));
}
