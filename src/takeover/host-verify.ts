import { MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import { same } from "../migrate/hosts/rules/keeps-instance.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { Entries, Entry } from "../model/journal.ts";
import type {
  ComputeHost,
  LeftHost,
  NodeTenant,
  OwnedMachine,
  PlannedMove,
} from "../model/nova/host-move.ts";
import { queueOf } from "../model/nova/requests.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { openRun, type RunFolder } from "../run/files/run-folder.ts";
import { kindOf } from "../run/files/run-kind.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import type { Sink } from "../run/sink.ts";
import { hasLifted } from "./baremetal/legacy-journal.ts";
import { leftHosts, ranSinceFenced } from "./baremetal/legacy-left.ts";
import { type LegacyPlace, type LegacyPlaces, openLegacyOf } from "./baremetal/legacy-place.ts";
import { judgeLegacy } from "./baremetal/legacy-verify.ts";
import { fencesOf } from "./host-owned.ts";
import { isSilentAgain } from "./host-watch.ts";
import { openHostPlace } from "./host-world.ts";
import { readLeases } from "./leases/leases.ts";
import { isFenced } from "./rules/move-hosts.ts";
import type { MoveTarget } from "./target.ts";

export interface HostVerifyWords extends LegacyPlaces {
  readonly run: string;
  readonly allRows?: boolean;
  /** The operator's word that the queues of hosts that machines left are empty. */
  readonly queuePurged?: boolean;
}

/** How many rows were as they should be, and how many not. */
interface HostVerified {
  readonly validated: number;
  readonly wrong: number;
}

/**
 * Compares the host of each machine with the plans of a run, and checks that the old hosts are silent and their queues empty.
 *
 * @throws MigrationError N2I-E326 where the plan moves no machine
 */
export async function verifyHosts(words: HostVerifyWords, sink: Sink): Promise<HostVerified> {
  const run = await openRun(words.run, { create: false });
  return closing(async (keep) => {
    const plans = await plansOf(run);
    const how = { readOnly: true };
    const place =
      (await kindOf(run)).variant === "baremetal"
        ? await openLegacyOf(run, words, keep, how, sink.say)
        : await openHostPlace(words, keep, how, sink.say);
    const counts = { validated: 0, wrong: 0 };
    const judges: Judges = {
      queue: (host) => queueVerdict(host, words.queuePurged === true),
      silent: (host, seconds) => isSilentAgain(place, host, seconds, sink),
    };
    const verdicts = async function* (): AsyncGenerator<RowVerdict> {
      for await (const verdict of judged(run, place, plans, judges)) {
        if (verdict.state === "validated") counts.validated += 1;
        else counts.wrong += 1;
        if (verdict.state !== "validated" || words.allRows === true) yield verdict;
      }
    };
    const machines = plans[0]?.manifest.counts.machines ?? 0;
    const summary = () => `${counted(counts.validated, "row")} validated`;
    await sink.list("verdicts", verdicts(), { title: "verify", machines, summary });
    if (counts.validated + counts.wrong === 0)
      throw new MigrationError("N2I-E326", "the plan moves no machine");
    return counts;
  });
}

/** The present plan, then earlier ones that changed something. */
async function plansOf(run: RunFolder): Promise<readonly MovePlan[]> {
  const present = await presentMoves(run);
  const { entries } = await readJournal(run);
  const others = (await movePlans(run, entries)).filter(({ sha256 }) => sha256 !== present.sha256);
  return [present, ...others];
}

interface Judges {
  readonly queue: (host: string) => RowVerdict;
  /** Whether a host that reported since it was left is silent again. */
  readonly silent: (host: string, seconds: number) => Promise<boolean>;
}

async function* judged(
  run: RunFolder,
  place: MoveTarget | LegacyPlace,
  plans: readonly MovePlan[],
  { queue, silent }: Judges,
): AsyncGenerator<RowVerdict> {
  const world = await place.world();
  let moved = 0;
  for await (const verdict of machinesJudged(run, place, plans, world.hosts)) {
    moved += 1;
    yield verdict;
  }
  if (moved === 0) return;
  const { entries } = await readJournal(run);
  const legacy = "leases" in place;
  const leases = legacy ? await readLeases(place.leases) : [];
  const hosts = new Map(
    plans
      .toReversed()
      .flatMap((plan) => (legacy ? leftHosts(plan, entries) : plan.manifest.from))
      .map((one) => [one.host, one] as const),
  );
  for (const left of hosts.values()) {
    const service = world.hosts.find(({ host }) => host === left.host);
    const lease = leases.find(({ host, fenced_by }) => host === left.host && fenced_by !== null);
    const fenced = lease !== undefined || (service !== undefined && isFenced(service));
    const planned = plans
      .flatMap(({ manifest }) => manifest.from)
      .filter(({ host }) => host === left.host);
    // A nova-compute whose service record was deleted makes a new record when it starts, which is not fenced.
    const isNew =
      planned.length > 0 && service !== undefined && planned.every(({ id }) => id !== service.id);
    // Who readmitted it looked at the rest before.
    if ((isNew || !fenced) && (await wasReadmitted(left.host, plans, entries))) continue;
    const ran =
      lease === undefined
        ? service !== undefined && service.report_count !== left.report_count
        : ranSinceFenced(left, service, lease);
    const down = Math.max(...plans.map(({ manifest }) => manifest.service_down_time));
    // Whose fence was somebody else's, that one lifts; only the queue is to have been empty by then.
    const ours = plans.some(({ manifest }) => fences(manifest, left.host));
    // A host without a lease or a service record has no fence, and is not to run either before it is readmitted.
    const taken = ours || plans.some(({ manifest }) => wasTakenOver(manifest, left.host));
    const started = isNew && taken;
    const runs = started || (ran && (fenced || taken) && !(await silent(left.host, down)));
    if (runs || fenced || ours || (taken && service === undefined))
      yield judgeHost(left, service, { fenced: fenced || started || !ours, runs, started });
    yield queue(left.host);
  }
}

/** Who serves each machine. */
async function* machinesJudged(
  run: RunFolder,
  place: MoveTarget | LegacyPlace,
  plans: readonly MovePlan[],
  hosts: readonly ComputeHost[],
): AsyncGenerator<RowVerdict> {
  const [present] = plans;
  if ("look" in place && present !== undefined) {
    yield* judgeLegacy(run, place, present);
    return;
  }
  const machines = await place.machines();
  const seen = new Set<string>();
  for (const { lines } of plans)
    for await (const batch of lines()) {
      // What a later plan said of a machine counts.
      const own = batch.filter(({ uuid, verdict }) => verdict !== "blocked" && !seen.has(uuid));
      for (const { uuid } of own) seen.add(uuid);
      const nodes = own.map(({ uuid }) => uuid);
      const tenants = await place.tenants?.(nodes);
      const now = await machines.of(nodes);
      for (const [at, line] of own.entries()) {
        const machine = now[at];
        if (machine !== undefined)
          yield* judgeMachine(line, machine, hosts, tenants?.get(line.uuid));
      }
    }
}

function wasTakenOver({ mode, from }: MovePlan["manifest"], left: string): boolean {
  return mode === "takeover" && from.some(({ host }) => host === left);
}

function fences({ fence }: MovePlan["manifest"], host: string): boolean {
  return fence.some(({ before }) => before?.host === host);
}

/** Whether this run lifted its fence of a host since machines left it, by the journal. */
async function wasReadmitted(
  host: string,
  plans: readonly MovePlan[],
  entries: Entries,
): Promise<boolean> {
  if (hasLifted(host, entries)) return true;
  const own = plans.filter(({ manifest }) => manifest.from.some((one) => one.host === host));
  const ours = own.filter(({ manifest }) => fences(manifest, host));
  if ((await fencesOf(ours, entries)) > 0) return false;
  const among = (some: readonly MovePlan[], entry: Entry, act: Entry["do"]): boolean =>
    entry.do === act && "plan" in entry && some.some(({ sha256 }) => sha256 === entry.plan);
  const lifted = entries.findLastIndex((entry) => among(ours, entry, "undone"));
  return lifted > entries.findLastIndex((entry) => among(own, entry, "begin"));
}

function* judgeMachine(
  { uuid, from, to, instance }: PlannedMove,
  { computes, instances }: OwnedMachine,
  hosts: readonly ComputeHost[],
  tenant: NodeTenant,
): Generator<RowVerdict> {
  const row = (resource: string, reason: string | null): RowVerdict => ({
    ...{ resource, uuid, bm_node_id: null, differs: [], reason },
    state: reason === null ? "validated" : "mismatched",
  });
  for (const { id, host } of instances)
    yield row(`instances:${id}`, host === to ? null : `host is ${host}, and was to be ${to}`);
  const alive = instance === null || instances.some((one) => same(one.uuid, instance));
  if (!alive && instances.length === 0)
    yield row(`instance ${instance}`, orphaned(instance, tenant));
  const owner = hosts.find(({ host }) => host === to);
  const [first] = computes;
  if (first === undefined)
    yield row("compute_nodes", `no live row; nova-compute of ${to} makes one at its next pass`);
  if (computes.length > 1)
    yield row(
      "compute_nodes",
      `${computes.length} live rows: ${computes.map((one) => one.owner).join(", ")}`,
    );
  if (first === undefined || computes.length > 1) return;
  const { id, owner: served, service_id } = first;
  const resource = `compute_nodes:${id}`;
  if (served === to && service_id !== null && owner !== undefined && service_id !== owner.id)
    yield row(resource, `it names ${to}, and service_id ${service_id} is another's`);
  else if (served === to) yield row(resource, null);
  else if (served === from)
    yield row(resource, `it still names ${from}; nova-compute of ${to} takes it at its next pass`);
  // An idle machine goes by Nova's hash ring wherever that says.
  else
    yield row(resource, instances.length === 0 ? null : `it names ${served}, and was to be ${to}`);
}

/** A node that names an instance Nova has not: whoever serves it tears it down, or nobody ever does. */
function orphaned(instance: string | null, tenant: NodeTenant): string | null {
  if (tenant === undefined)
    return "orphaned: it was deleted since, and whether Ironic's node still names it is not known; give --ironic-db or a login";
  return same(tenant?.instance_uuid, instance)
    ? "orphaned: Nova has no such instance, and Ironic's node names it"
    : null;
}

function judgeHost(
  { host, id, report_count }: LeftHost,
  service: ComputeHost | undefined,
  { fenced, runs, started }: Record<"fenced" | "runs" | "started", boolean>,
): RowVerdict {
  const row = (reason: string | null): RowVerdict => ({
    ...{ resource: `services:${service?.id ?? id ?? host}`, uuid: null, bm_node_id: null },
    ...{ differs: [], reason },
    state: reason === null ? "validated" : "mismatched",
  });
  // Its record was deleted, before it was taken over or since: nova-compute makes a new one when it starts.
  if (service === undefined) return row(null);
  if (started)
    return row(
      `nova-compute of ${host} started and made a new service record: stop it, or let it back with host readmit; it takes idle machines`,
    );
  if (!fenced) return row(`${host} is not fenced any more, and nobody readmitted it`);
  if (!runs) return row(null);
  const was = report_count === null ? "" : `${report_count}, now `;
  return row(
    `nova-compute of ${host} runs again (report_count ${was}${service.report_count}): stop it; it works off its queue and takes idle machines`,
  );
}

function queueVerdict(host: string, purged: boolean): RowVerdict {
  const resource = queueOf(host);
  const row = { resource, uuid: null, bm_node_id: null, differs: [] };
  if (purged) return { ...row, state: "validated", reason: null };
  const reason = `not looked at: on the broker run rabbitmqctl purge_queue ${resource}, then give --queue-purged`;
  return { ...row, state: "mismatched", reason };
}
