import { hasReported } from "../../../migrate/hosts/rules/running.ts";
import type { BmFacts, IronicFacts, NovaFacts, PlanFacts } from "../../../model/check.ts";
import { taskStateText } from "../../../model/nova/requests.ts";
import { index } from "../../../model/rows.ts";
import {
  check,
  FINE,
  fine,
  joined,
  judged,
  lower,
  type MachineFact,
  machinesBy,
  planned,
  readable,
  resultOf,
  unseen,
  warning,
} from "./part.ts";

/** Seconds, two of nova's report_interval. A shorter watch proves nothing. */
const WATCH_SECONDS = 20;

/**
 * Watches heartbeats: a service without a report has stopped, whatever `disabled` is. The hosts are
 * those of machines and instances, and those the plan needs stopped.
 * @source facts/systems.md D R20
 */
const computes = check("nova-compute stopped", ["bm", "nova"], (view) => {
  const { bm, nova, plan, watched: seconds } = view;
  const { instances } = nova;
  const claims = machinesBy(bm, "instance_uuid");
  const isPlanned = (id: number): boolean => plan?.skipped.has(id) !== true;
  const watched = new Set<string | null>(plan?.nova?.stopped);
  for (const { id, service_host } of bm.nodes) if (isPlanned(id)) watched.add(service_host);
  for (const { uuid, host } of instances) if (claims(uuid).some(isPlanned)) watched.add(host);
  const running = reporting(nova)
    .filter(({ host }) => watched.has(host))
    .map(({ host, report_count, last_seen_up }) => {
      const at = last_seen_up === null ? "" : `, at ${last_seen_up} UTC`;
      return `${host} (report_count ${report_count}${at})`;
    });
  const found = resultOf(
    running,
    "hosts with a nova-compute that reports",
    "systemctl stop nova-compute, on each of these hosts",
  );
  if (found.result !== "Success") return found;
  return seconds >= WATCH_SECONDS
    ? fine(`No heartbeat in ${seconds} s.`)
    : warning(
        `No heartbeat in ${seconds} s, which is too short to confirm that nova-compute is stopped.`,
        `run check with --watch ${WATCH_SECONDS}`,
      );
});

/** Services that reported between the two readings. */
function reporting({ beats, later }: NovaFacts): NovaFacts["later"] {
  const before = new Map(beats.map((beat) => [beat.id, beat]));
  return later.filter((now) => hasReported(before.get(now.id), now));
}

/** A deployment in progress in nova_bm. @source facts/nova-bm.md 2.3 */
const DEPLOYING: ReadonlySet<string> = new Set([
  ...["building", "prepared", "deploying"],
  ...["deploy complete", "deploy failed"],
]);

/** @source facts/nova-bm.md 2.3, in-flight set */
const deploys = check("Deployments in flight", ["bm"], ({ bm, nova, plan }) => {
  const instances = readable(nova)?.instances;
  return joined([
    judged(
      inFlight(bm, instances ?? []),
      plan,
      ["N2I-D100", "N2I-D206"],
      "deployments or tasks in flight",
      "wait until they end. For one that never ends: nova reset-state --active INSTANCE",
    ),
    instances === undefined ? unseen("--nova-db") : FINE,
  ]);
});

function* inFlight(bm: BmFacts, instances: NovaFacts["instances"]): Generator<MachineFact> {
  for (const { id, instance_uuid, task_state } of bm.nodes)
    if (instance_uuid && DEPLOYING.has(task_state ?? ""))
      yield { text: `bm_nodes.id=${id} ${task_state}`, machines: [id] };
  const of = machinesOf(bm);
  for (const row of instances)
    if (!row.deleted && row.task_state)
      yield { text: `instance ${row.uuid} ${row.task_state}`, machines: of(row) };
}

/** Machines that claim an instance, or the machine of its node in nova. */
function machinesOf(bm: BmFacts) {
  const [claims, machines] = [machinesBy(bm, "instance_uuid"), machinesBy(bm, "uuid")];
  return (row: { readonly uuid: string; readonly node: string | null }): readonly number[] => {
    const claiming = claims(row.uuid);
    return claiming.length > 0 ? claiming : machines(row.node);
  };
}

const WHAT = "requests are waiting in message queues";
const FIX =
  "run the listed commands on the message broker while nova-compute is stopped, then openstack server set --state active INSTANCE if task_state is set. Accept N2I-D243 for purged requests";

/** Requests that a nova-compute executes when it starts. @source facts/systems-measured.md A1+ */
const queued = check("Queued requests", ["bm", "nova"], ({ bm, nova, plan }) => {
  const { queued, unqueued, instances } = nova;
  const of = machinesBy(bm, "instance_uuid");
  const found = queued.map(({ instance, text }) => ({
    text: `instance ${instance} ${text}`,
    machines: of(instance),
  }));
  const queuedUuids = new Set(queued.map(({ instance }) => lower(instance)));
  // Tasks without an action. If the nova-compute is alive, it is working on them.
  const alive = new Set(reporting(nova).map(({ host }) => host));
  function* busy(): Generator<MachineFact> {
    for (const { uuid, host, task_state, deleted } of instances) {
      if (deleted || host === null || !task_state) continue;
      if (alive.has(host) || queuedUuids.has(lower(uuid)) || of(uuid).length === 0) continue;
      yield { text: `instance ${uuid} ${taskStateText(task_state, host)}`, machines: of(uuid) };
    }
  }
  return joined([
    judged(found, plan, ["N2I-D243"], WHAT, FIX),
    judged(busy(), plan, ["N2I-D243", "N2I-D206", "N2I-D100"], WHAT, FIX),
    unqueued === null
      ? FINE
      : warning(
          `Waiting requests were not checked, because this user may not read ${unqueued.tables.join(" and ")}.`,
          unqueued.grants.join("; "),
        ),
  ]);
});

/**
 * If nova shows the machine of an instance, only other machines are faults (N2I-D103). Otherwise,
 * every machine that claims the instance is one, even with N2I-D102 in the plan.
 * @source facts/nova-bm.md 2.4
 */
const duplicates = check("Duplicate instances", ["bm"], ({ bm, plan }) =>
  judged(
    claimedByTwo(bm, plan),
    plan,
    ["N2I-D102", "N2I-D103"],
    "instances claimed by several machines",
    "nova show INSTANCE names the node that has it; for each of the others, in nova_bm: UPDATE bm_nodes SET instance_uuid=NULL WHERE id=ID AND instance_uuid='INSTANCE', then extract and plan again",
  ),
);

function* claimedByTwo(bm: BmFacts, plan: PlanFacts | null): Generator<MachineFact> {
  const claims = machinesBy(bm, "instance_uuid");
  const line = planned(plan);
  const having = (code: string, ids: readonly number[]): readonly number[] =>
    ids.filter((id) => line({ id })?.findings.has(code));
  for (const { id: machine, instance_uuid } of bm.nodes) {
    const ids = claims(instance_uuid);
    // Each instance once, with the first machine that claims it.
    if (ids.length < 2 || ids[0] !== machine) continue;
    const text = `${lower(instance_uuid)} by bm_nodes.id ${ids.join(" and ")}`;
    const rest = ids.filter((id) => plan?.skipped.has(id) !== true);
    const wrong = [having("N2I-D102", rest), having("N2I-D103", rest), rest.length > 1 ? rest : []];
    // One claim is no duplicate, so the skipped machines are listed.
    const machines = wrong.find((some) => some.length > 0);
    yield { text, machines: machines ?? ids.filter((id) => !rest.includes(id)) };
  }
}

/** Only the machine shows which side is wrong. @source facts/nova-bm.md 1.11, 5.1 */
const MATCH =
  "look at the machine, then correct the wrong side: in nova_bm UPDATE bm_nodes SET instance_uuid=NULL WHERE id=ID AND instance_uuid='INSTANCE' where it is not there, or in nova UPDATE instances SET node='NODE' WHERE uuid='INSTANCE' AND deleted=0 where it is; nova delete INSTANCE for one that is nowhere; then extract and plan again (N2I-D201, D203)";

/** Compares the instances of nova_bm and nova, without those of machines in Ironic. */
const unmatched = check("Unmatched instances", ["bm", "nova"], ({ bm, nova, plan, ironic }) =>
  judged(
    withoutTheirLike(bm, nova, readable(ironic)?.nodes ?? []),
    plan,
    ["N2I-D201", "N2I-D103", "N2I-D203", "N2I-D207"],
    "instances that only nova_bm or only nova has",
    MATCH,
  ),
);

function* withoutTheirLike(
  bm: BmFacts,
  { instances }: NovaFacts,
  nodes: IronicFacts["nodes"],
): Generator<MachineFact> {
  const rows = index(instances, "uuid");
  const [claimed, machines] = [machinesBy(bm, "instance_uuid"), machinesBy(bm, "uuid")];
  for (const { id, uuid: machine, instance_uuid } of bm.nodes) {
    if (!instance_uuid) continue;
    const row = rows(instance_uuid).at(-1);
    const text = `bm_nodes.id=${id} ${lower(instance_uuid)}`;
    if (row === undefined) {
      yield { text: `${text} is unknown to nova`, machines: [id] };
      continue;
    }
    if (row.deleted || lower(row.node) === lower(machine)) continue;
    // If one of several claims is right, Duplicate instances reports the others.
    const ids = claimed(instance_uuid);
    if (machines(row.node).some((other) => ids.includes(other))) continue;
    yield { text: `${text} is on node ${row.node ?? "none"} in nova`, machines: [id] };
  }
  const [native, of] = [index(nodes, "instance_uuid"), machinesOf(bm)];
  for (const row of instances)
    if (!row.deleted && claimed(row.uuid).length === 0 && native(row.uuid).length === 0)
      yield {
        text: `${row.uuid} is on ${row.node ?? `host ${row.host}`} only in nova`,
        machines: of(row),
      };
}

export const SOURCE = [computes, deploys, queued, duplicates, unmatched];
