import { MigrationError } from "../../lib/error.ts";
import { once } from "../../lib/streams.ts";
import { counted, listed, NAMES, shellArgument } from "../../lib/text.ts";
import type { SkippedRow } from "../../model/change.ts";
import { bindingOn, type PortBinding, sameBinding } from "../../model/ironic/port-binding.ts";
import type { Lease } from "../../model/nova/leases.ts";
import type { LegacyMove } from "../../model/nova/legacy-move.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { withSession } from "../../run/session.ts";
import { type Sink, silently } from "../../run/sink.ts";
import { makeMoves } from "../host-plan.ts";
import { checkDead, checkPairs, silentSince } from "../host-watch.ts";
import { readLeases } from "../leases/leases.ts";
import { leaseText } from "../rules/legacy.ts";
import {
  forwardTransition,
  isForeignMachine,
  type LegacyNow,
  moveState,
} from "../rules/legacy-states.ts";
import { isLive } from "../rules/successors.ts";
import type { HostMoved } from "../target.ts";
import type { LegacyClients } from "./legacy-clients.ts";
import { type Claiming, checkAny, machinesOf, runMachines, withLegacy } from "./legacy-moves.ts";
import { LEGACY, type LegacyMachine, movedMachines } from "./steps/legacy-started.ts";

/** Also prints commands for ports. @throws MigrationError as `performLegacy` */
export async function moveLegacy(
  run: RunFolder,
  clients: LegacyClients,
  plan: MovePlan,
  sink: Sink,
): Promise<HostMoved> {
  const { movedBefore } = reportMoved(clients, sink.result);
  const ports = async (): Promise<void> => {
    for await (const some of machinesOf(plan)) await movedBefore(some);
  };
  const moved = await performLegacy(run, clients, plan, sink).finally(() =>
    // Also print the commands after a failure, because the next command may be refused.
    ports().catch(() => undefined),
  );
  checkAny(moved);
  return legacyMoved(plan, 0, moved);
}

export function legacyMoved(
  { manifest }: MovePlan,
  fenced: number,
  moved: Parameters<typeof checkAny>[0],
): HostMoved {
  return { ...moved, manifest, fenced, blocked: manifest.counts.verdicts.blocked };
}

/** A machine that restarts before its port is changed boots from its old host. */
export function reportMoved({ ports, read }: LegacyClients, report: (text: string) => void) {
  let reported = false;
  let count = 0;
  async function onMoved(...moves: readonly LegacyMove[]): Promise<void> {
    for (const { id, move, now, expected } of await ports.of(moves)) {
      if (now && expected !== null && sameBinding(now, expected)) continue;
      if (!reported) report("Before a machine restarts, set its new host on its Neutron ports:");
      reported = true;
      report(commandOf(id, expected ?? bindingOn(move.to, `MY_IP_OF_${move.to}`)));
    }
    count += moves.length;
  }
  return {
    onMoved,
    /** Machines that were not moved still boot from their old host. */
    async movedBefore(machines: readonly LegacyMachine[]): Promise<void> {
      const isMoved = (now: LegacyNow): boolean =>
        moveState(forwardTransition(now.move), now).is === "after";
      const now = await read(machines.map(({ move }) => move));
      await onMoved(...now.filter(isMoved).map(({ move }) => move));
    },
    /** Also after a failure. */
    end(what: string): void {
      if (count > 0) report(`Took ${counted(count, "machine")} ${what}.`);
    },
  };
}

function commandOf(port: string, { host, options }: PortBinding): string {
  const args = Object.entries(options).map(
    ([name, value]) => `--extra-dhcp-option ${shellArgument(`name=${name},value=${value}`)}`,
  );
  return `openstack port set --host ${shellArgument(host)} ${args.join(" ")} ${shellArgument(port)}`;
}

/**
 * @throws MigrationError N2I-E316 if a host that machines leave reports, N2I-E362 if another process
 * has a lock
 */
export async function performLegacy(
  run: RunFolder,
  clients: LegacyClients,
  plan: MovePlan,
  sink: Pick<Sink, "during" | "report">,
  how: Omit<Claiming, "hosts"> = {},
) {
  const { manifest } = plan;
  const sources = manifest.from.map(({ host }) => host);
  const hosts = [...sources, ...manifest.to];
  const leases = how.silent === undefined ? await readLeases(clients.leases) : [];
  const times = leases.flatMap(({ host, fenced_by, ttl }) =>
    fenced_by === null && sources.includes(host) ? [ttl] : [],
  );
  // A claim compares the machine's heartbeat, because an agent may return after the checks.
  const silent = times.length === 0 ? how.silent : Math.max(...times);
  const claiming = { hosts, ...how, silent };
  return withLegacy(run, clients, [plan], claiming, async (deps) => {
    const oldHosts =
      manifest.mode === "takeover"
        ? manifest.from
        : await silentSince(deps.nova, clients, manifest, sink);
    await checkPairs(await clients.readFacts(), plan);
    await checkLeases(clients, sources);
    const check = async (): Promise<void> => {
      await checkDead(deps.nova, oldHosts);
      await checkLeases(clients, sources);
    };
    return sink.during(
      "host move",
      manifest.counts.verdicts.move,
      (progress) => runMachines(deps, "forward", machinesOf(plan), { check, progress }),
      ({ made }) => `${counted(made, "machine")} moved`,
    );
  });
}

/** An agent renews its lease only while nova-compute reports. @throws MigrationError N2I-E316 */
async function checkLeases({ leases }: LegacyClients, hosts: readonly string[]): Promise<void> {
  const live = (await readLeases(leases)).filter((one) => hosts.includes(one.host) && isLive(one));
  if (live.length > 0)
    throw new MigrationError("N2I-E316", listed(live.map(leaseText), NAMES, "; "));
}

interface TakeRequest extends Pick<Claiming, "agent" | "signal"> {
  readonly from: string;
  readonly to: string;
  readonly nodes: readonly string[];
  /** Seconds without a report after which a nova-compute is considered down. */
  readonly down: number;
}

/**
 * Resumes unfinished moves of this run, then plans and moves other machines. The count is printed
 * even if a later step fails.
 *
 * @param run locked by the caller
 * @throws MigrationError N2I-E316 if the lease is not fenced, N2I-E362 if another process has a
 * host's lock
 */
export async function takeMachines(
  run: RunFolder,
  clients: LegacyClients,
  { from, to, agent, nodes, down, signal }: TakeRequest,
  { report }: Pick<Sink, "report">,
): Promise<{ moved: number; skipped: readonly SkippedRow[]; stopped: boolean }> {
  const [lease] = await readLeases(clients.leases, from);
  const open = movedMachines((await readJournal(run)).entries, { unfinished: true });
  const ids = [...nodes, ...open.map(({ id }) => id)];
  // An agent runs for months, so compute nodes are read again for each pass.
  const now = { ...clients, read: await clients.readerOf(ids) };
  const claiming = { silent: lease?.ttl, agent, signal };
  const taking = { run, clients: now, report };
  const { done, unclaimed, skipped, stopped } = await goOn(taking, open, from, claiming);
  const requested = new Set([...nodes.map((uuid) => uuid.toLowerCase()), ...unclaimed]);
  const rest = [...requested].filter((uuid) => !done.has(uuid));
  if (rest.length === 0 || stopped) return { moved: done.size, skipped, stopped };
  if (lease === undefined || lease.fenced_by === null) {
    if (nodes.length > 0) throw unfenced(from, lease);
    // The host is up again. Unclaimed machines have only the guard of an instance.
    const how = { hosts: [from, to], agent, signal };
    const machines = open.filter(({ id }) => unclaimed.includes(id.toLowerCase()));
    const returned = await withLegacy(run, now, [], how, (deps) =>
      runMachines(deps, "back", once(machines)),
    );
    skipped.push(...returned.skipped);
    return { moved: done.size, skipped, stopped: returned.stopped };
  }
  const options = { node: rest, to: [to], serviceDownTime: down };
  const sink = { report, during: silently };
  const plan = await makeMoves(run, now, "takeover", options, sink);
  for await (const batch of plan.lines())
    for (const { uuid, verdict, findings, legacy } of batch) {
      const texts = findings.map(({ code, place: at, message }) => `${code} ${at}: ${message}`);
      const [id, reason] = [`machine:${uuid}`, texts.join("; ")];
      // No operator reads an agent's plan, so a removed lock is printed.
      if (verdict === "move" && findings.some(({ code }) => code === "N2I-D290"))
        report(`${id}: ${reason}.`);
      // A machine that ends in error is moved, and also reported.
      if (verdict === "blocked" || legacy?.after !== legacy?.before) skipped.push({ id, reason });
    }
  if (plan.manifest.counts.verdicts.move === 0)
    return { moved: done.size, skipped, stopped: false };
  const { onMoved, end } = reportMoved(now, report);
  const moved = await performLegacy(run, now, plan, sink, { ...claiming, onMoved }).finally(() =>
    end(`of ${from} over`),
  );
  return {
    moved: done.size + moved.made + moved.found,
    skipped: [...skipped, ...moved.skipped],
    stopped: moved.stopped,
  };
}

/** The error that stops claims of further machines. @param lease undefined if it was deleted */
function unfenced(host: string, lease: Lease | undefined): MigrationError {
  if (lease !== undefined)
    return new MigrationError("N2I-E316", `the lease of ${host} is not fenced`);
  return new MigrationError("N2I-E316", `nova_bm no longer has a lease of ${host}`, {
    fix: `If the host is up, start its agent once. Otherwise take it over by hand: nova2ironic host takeover --nova-bm-db NOVA_BM --from ${host}`,
  });
}

interface Taking {
  readonly run: RunFolder;
  readonly clients: LegacyClients;
  readonly report: (text: string) => void;
}

/** A machine that its host still owns is planned again, because the host may be up. */
async function goOn(
  taking: Taking,
  open: readonly LegacyMachine[],
  from: string,
  claiming: Omit<Claiming, "hosts">,
) {
  const { run, clients, report } = taking;
  const skipped: SkippedRow[] = [];
  const nothing = { done: new Set<string>(), unclaimed: [], skipped, stopped: false };
  if (open.length === 0) return nothing;
  const now = await clients.read(open.map(({ move }) => move));
  const observed = open.map((machine, at) => ({ machine, node: now[at]?.node ?? null }));
  const foreign = observed.filter(({ machine, node }) => isForeignMachine(machine.move, node));
  if (foreign.length > 0) await giveUp(taking, foreign);
  const owned = observed.filter((one) => !foreign.includes(one));
  const isOnOldHost = ({ node }: (typeof owned)[number]): boolean => node?.service_host === from;
  const unclaimed = owned.filter(isOnOldHost).map(({ machine }) => machine.id.toLowerCase());
  const machines = owned.filter((one) => !isOnOldHost(one)).map(({ machine }) => machine);
  if (machines.length === 0) return { ...nothing, unclaimed };
  report(`Resuming ${counted(machines.length, "machine")} whose move was interrupted.`);
  const hosts = machines.flatMap(({ move }) => [move.from, move.to]);
  const { onMoved, movedBefore, end } = reportMoved(clients, report);
  const how = { hosts, ...claiming, onMoved };
  // These machines belong to this host, whatever their former host does.
  const moved = await withLegacy(run, clients, [], how, async (deps) => {
    await movedBefore(machines);
    return runMachines(deps, "forward", once(machines));
  }).finally(() => end("over to finish interrupted moves"));
  const stayed = new Set(moved.skipped.map(({ id }) => id));
  const done = machines.filter(({ id }) => !stayed.has(`machine:${id}`));
  return { ...moved, done: new Set(done.map(({ id }) => id.toLowerCase())), unclaimed };
}

/** Ends these moves in the journal, so that neither a later pass nor a rollback waits for them. */
async function giveUp(
  { run, clients, report }: Taking,
  foreign: readonly { readonly machine: LegacyMachine; readonly node: LegacyNow["node"] }[],
): Promise<void> {
  await withSession(run, async ({ begin, journal, now }) => {
    await begin("nova", clients.identity);
    for (const { machine } of foreign)
      await journal.append({ do: "returned", part: LEGACY, id: machine.id, at: now() });
  });
  const names = foreign.map(({ machine, node }) =>
    node === null
      ? `${machine.id}, which is no longer in nova_bm`
      : `${machine.id} of ${node.service_host ?? "no host"}`,
  );
  report(
    `Machines of this run now belong to other hosts, so their moves are closed: ${listed(names, NAMES, "; ")}.`,
  );
}
