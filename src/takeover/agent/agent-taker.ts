import { join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import type { SkippedRow } from "../../model/change.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";
import type { Lease } from "../../model/nova/leases.ts";
import type { Keep } from "../../run/databases.ts";
import { askFence } from "../../run/fence-command.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { read } from "../../systems/database/read.ts";
import { text } from "../../systems/database/rows.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { openLegacyClients } from "../baremetal/legacy-clients.ts";
import type { Opening } from "../baremetal/legacy-ports.ts";
import { takeMachines } from "../baremetal/legacy-take.ts";
import { downTime } from "../host-watch.ts";
import { fenceLease, readLeases } from "../leases/leases.ts";
import { keepLocks, takenLocks } from "../leases/locks.ts";
import { nodesOf, ownersAmong } from "../leases/nodes.ts";
import { isLive, judgeLeases, shareOf, successorsOf } from "../rules/successors.ts";
import type { HostOptions } from "../target.ts";
import { createAlarm, createWatch, isLocked, openRuns, patiently } from "./agent-watch.ts";

export interface AgentOptions extends HostOptions {
  readonly host: string;
  readonly interval: number;
  /** Seconds without a heartbeat after which another host may fence this one. */
  readonly ttl: number;
  readonly novaBmDb: string;
  readonly novaDb: string;
  readonly take: boolean;
  /** Folder of the runs, one per dead host. */
  readonly run?: string;
  readonly fenceCommand?: string;
  /** Program that runs once if this host is fenced. */
  readonly onFenced?: string;
}

interface Around extends Pick<Opening, "leases" | "report"> {
  readonly services: () => Promise<readonly ComputeHost[]>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** Machines per pass. @source systems.md A4: periodic_max_workers of Ironic */
const PASS = 8;
/** Lifetime of the host lock while the host is being fenced, in milliseconds. */
const LOCK = 30_000;

type Agent = Awaited<ReturnType<typeof openAgent>>;

async function openAgent(options: AgentOptions, around: Around, keep: Keep) {
  const { run = "", ttl } = options;
  const { clock, report } = around;
  await openRun(run, { create: true });
  const clients = await openLegacyClients(options, keep, { readOnly: false }, report);
  const down = await downTime(options);
  const reported = new Set<string>();
  const later = (): number => clock() + ttl * 1000;
  /** When to resume unfinished moves of this host; null: none. */
  const finish: { at: number | null } = { at: 0 };
  return {
    ...{ ...around, ...options, run, clients, down, later, finish },
    ...{ watch: createWatch(down, clock), alarm: createAlarm(report) },
    ending: new AbortController(),
    /** Reports a skipped machine, whose move may be unfinished. */
    skip(line: string): void {
      finish.at ??= later();
      // Each line is reported once, as long as it is remembered.
      if (reported.size === 1000) reported.clear();
      if (!reported.has(line)) report(line);
      reported.add(line);
    },
  };
}

/** @throws MigrationError as `openLegacyClients` */
export async function openTaker(options: AgentOptions, around: Around, keep: Keep) {
  const agent = await openAgent(options, around, keep);
  const { leases, watch, clock, ending, finish } = agent;
  /** Whether to leave the next interval to other work, and whether to check settled hosts then. */
  let [rests, rechecks] = [false, false];
  let work: Promise<unknown> = Promise.resolve();
  let isWorking = false;
  function start(act: () => Promise<void>): void {
    isWorking = true;
    work = act().finally(() => {
      isWorking = false;
    });
    work.catch(() => undefined); // `attempt` throws it
  }
  const settle = (): Promise<unknown> => work.catch(() => undefined);
  return {
    settle,
    /**
     * Makes at most one statement for all compute hosts in Nova.
     *
     * @returns whether it made one
     * @throws the error of the last task, if it is a bug
     */
    async attempt(services: readonly ComputeHost[]): Promise<boolean> {
      watch.saw(services);
      const open = watch.open();
      if (!isWorking) await work;
      if (isWorking) return false;
      if (finish.at !== null && clock() >= finish.at) {
        finish.at = null;
        start(() => finishAll(agent));
        return true;
      }
      // After an attempt without result, the next interval is left to other work.
      if (rests || (open.length === 0 && watch.settled.size === 0)) {
        rests = false;
        return false;
      }
      if (watch.settled.size > 0 && (rechecks || open.length === 0)) {
        for (const one of await ownersAmong(leases, [...watch.settled])) watch.settled.delete(one);
        [rests, rechecks] = [true, false];
        return true;
      }
      rechecks = true;
      const { all, dead } = await scan(agent);
      // A host without a lease may keep its machines until it reports with one.
      for (const one of open)
        if (!all.some((lease) => lease.host === one))
          watch.waits.set(one, Number.POSITIVE_INFINITY);
      const todo = dead.filter((lease) => open.includes(lease.host));
      rests = todo.length === 0;
      if (!rests) start(() => takeAll(agent, todo));
      return true;
    },
    /** Finishes the current machine, then stops. Kills the site's fence, which may take minutes. */
    stop: (error: MigrationError): void => ending.abort(error),
    end(): Promise<unknown> {
      ending.abort(new MigrationError("N2I-E301", `the agent of ${options.host} is stopping`));
      return settle();
    },
  };
}

/** Errors of the environment do not end the agent. @throws any other error */
function reportFailure({ ending, report, finish, later }: Agent, what: string, error: unknown) {
  if (!(error instanceof MigrationError)) throw error;
  const again = ending.signal.aborted ? "" : " Another attempt follows.";
  report(`Takeover of ${what}: ${error.message}.${again}`);
  finish.at ??= later();
}

function waiting<T>({ ending, report }: Agent, act: () => Promise<T>): Promise<T | null> {
  return patiently(ending.signal, report, act);
}

/** One run per dead host, which can be inspected and rolled back separately. */
function takeIn(agent: Agent, name: string, from: string, nodes: readonly string[]) {
  const { host, run, clients, down, report } = agent;
  const about = { kind: "takeover", variant: "baremetal", create: true } as const;
  return inRun(join(run, name), "host agent", about, async (folder) => {
    await saveOptions(folder, "host", agent);
    const request = { from, to: host, agent: host, nodes, down, signal: agent.ending.signal };
    return (await takeMachines(folder, clients, request, { report })).skipped;
  });
}

/** One statement. Returns no dead hosts if this host must not act. */
async function scan({ leases, host, watch, alarm, ending }: Agent) {
  const all = await readLeases(leases);
  const judged = judgeLeases(all, watch.state());
  alarm(judged);
  const mayAct = !ending.signal.aborted && isLive(all.find((lease) => lease.host === host));
  return { all, dead: mayAct ? judged.dead : [] };
}

async function machinesOf({ leases }: Agent, from: string): Promise<readonly string[]> {
  const nodes: string[] = [];
  for await (const page of nodesOf(leases, from)) for (const { uuid } of page) nodes.push(uuid);
  return nodes;
}

/** A dead host's lease and this host's share of its machines, or null, by Nova's current state. */
async function readAgain(agent: Agent, from: string) {
  const { watch, host, clients } = agent;
  watch.saw(await agent.services());
  const { all, dead } = await scan(agent);
  const lease = dead.find((one) => one.host === from);
  if (lease === undefined) return null;
  const successors = successorsOf(from, all, watch.fit(), await clients.aggregates());
  return { lease, mine: shareOf(host, await machinesOf(agent, from), successors) };
}

/** Fences under a lock. Returns whether the host is fenced, also by another agent. */
async function fenceHost(agent: Agent, from: string): Promise<boolean> {
  const { leases, host, report, ending } = agent;
  const holder = { owner: `agent of ${host}`, ttl: LOCK };
  const locks = await waiting(agent, () => keepLocks(leases, [`host:${from}`], holder));
  if (locks === null) return false;
  try {
    // The wait for the lock, or the site's fence, may have taken minutes.
    const before = await readAgain(agent, from);
    if (before === null || before.mine.length === 0) return false;
    if (before.lease.fenced_by !== null) return true;
    await askFence({ ...agent, from }, ending.signal, agent);
    await locks.renew();
    const now = await readAgain(agent, from);
    if (now === null || now.mine.length === 0 || now.lease.epoch !== before.lease.epoch)
      return false;
    if (!(await fenceLease(leases, now.lease, host))) return false;
    report(`${from} is dead: fenced by ${host}.`);
    return true;
  } finally {
    await locks.release();
  }
}

/** A refusal for some machines must not stop the takeover of the others. */
async function takeSome(agent: Agent, { host: from, epoch }: Lease, nodes: readonly string[]) {
  try {
    return await takeIn(agent, `${encodeURIComponent(from)}-${epoch}`, from, nodes);
  } catch (error) {
    if (!(error instanceof MigrationError) || isLocked(error) || isUnanswered(error)) throw error;
    agent.skip(`Machines of ${from} were skipped: ${error.message}.`);
    return [];
  }
}

/** @throws MigrationError if a database does not answer, or the site's fence fails */
async function takeFrom(agent: Agent, { host: from, fenced_by }: Lease): Promise<void> {
  const { watch } = agent;
  // Without machines, a host is not fenced.
  if ((await machinesOf(agent, from)).length === 0) return void watch.settled.add(from);
  if (fenced_by === null && !(await fenceHost(agent, from))) return;
  const processed = new Set<string>();
  for (;;) {
    const now = await readAgain(agent, from);
    if (now === null || now.lease.fenced_by === null) return;
    const some = now.mine.filter((node) => !processed.has(node)).slice(0, PASS);
    if (some.length === 0) break;
    for (const node of some) processed.add(node);
    const skipped = await waiting(agent, () => takeSome(agent, now.lease, some));
    if (skipped === null) return;
    for (const { id, reason } of skipped) agent.skip(`${id} of ${from} was skipped: ${reason}.`);
  }
  if ((await machinesOf(agent, from)).length === 0) watch.settled.add(from);
  // Another host may take over the machines, or an operator may solve the problem.
  else if (processed.size > 0) watch.waits.set(from, agent.later());
}

async function takeAll(agent: Agent, dead: readonly Lease[]): Promise<void> {
  for (const lease of dead)
    await takeFrom(agent, lease).catch((error: unknown) => {
      reportFailure(agent, lease.host, error);
      if (!isUnanswered(error)) agent.watch.waits.set(lease.host, agent.later());
    });
}

/** Finishes the moves of all runs in the folder. Returns the machines that remain unfinished. */
async function finishMoves(agent: Agent): Promise<readonly SkippedRow[]> {
  const { leases, host, run } = agent;
  const skipped: SkippedRow[] = [];
  for (const { name, from } of await openRuns(run))
    try {
      skipped.push(...(await takeIn(agent, name, from, [])));
    } catch (error) {
      // A bad folder must not stop others.
      if (!(error instanceof MigrationError) || isUnanswered(error)) throw error;
      skipped.push({ id: `run:${name}`, reason: error.message });
    }
  const mine = "bm_nodes WHERE service_host = ? AND task_state = 'migrating' ORDER BY id";
  const unfinished = (await read(leases, { uuid: text }, mine, [host]))
    .flatMap(({ uuid }) => uuid ?? [])
    .filter((uuid) => !skipped.some(({ id }) => id === `machine:${uuid}`));
  const locks = unfinished.length === 0 ? [] : await takenLocks(leases);
  for (const uuid of unfinished) {
    const lock = locks.find(({ resource }) => resource === `node:${uuid.toLowerCase()}`);
    const whose = lock === undefined ? "another run" : lock.owner;
    const late = lock !== undefined && lock.remaining <= 0 ? ", whose lock has expired" : "";
    skipped.push({ id: `machine:${uuid}`, reason: `its move is unfinished, by ${whose}${late}` });
  }
  return skipped;
}

async function finishAll(agent: Agent): Promise<void> {
  try {
    const skipped = (await waiting(agent, () => finishMoves(agent))) ?? [];
    for (const { id, reason } of skipped) agent.skip(`${id} was skipped: ${reason}.`);
  } catch (error) {
    reportFailure(agent, "unfinished moves", error);
  }
}
