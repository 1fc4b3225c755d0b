import { hasReported } from "../../../migrate/hosts/rules/running.ts";
import type { NovaFacts } from "../../../model/check.ts";
import { taskStateText } from "../../../model/nova/requests.ts";
import { index } from "../../../model/rows.ts";
import {
  check,
  type Deployment,
  FINE,
  fine,
  firstOf,
  joined,
  judged,
  lower,
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
  const { bm, nova, plan, watched: seconds, claims, isSkipped } = view;
  const watched = new Set<string | null>(plan?.nova?.stopped);
  for (const { id, service_host } of bm.nodes) if (!isSkipped(id)) watched.add(service_host);
  for (const { uuid, host } of nova.instances)
    if (claims(uuid).some((id) => !isSkipped(id))) watched.add(host);
  const running = reporting(nova)
    .filter(({ host }) => watched.has(host))
    .map(({ host, report_count, last_seen_up }) => {
      const at = last_seen_up === null ? "" : `, at ${last_seen_up} UTC`;
      return `${host} (report_count ${report_count}${at})`;
    });
  return firstOf(
    resultOf(
      running,
      "hosts with a nova-compute that reports",
      "systemctl stop nova-compute, on each of these hosts",
    ),
    seconds >= WATCH_SECONDS
      ? fine(`No heartbeat in ${seconds} s.`)
      : warning(
          `No heartbeat in ${seconds} s, which is too short to confirm that nova-compute is stopped.`,
          `run check with --watch ${WATCH_SECONDS}`,
        ),
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
const deploys = check("Deployments in flight", ["bm"], (view) =>
  joined([
    judged(
      view,
      inFlight(view),
      ["N2I-D100", "N2I-D206"],
      "deployments or tasks in flight",
      "wait until they end. For one that never ends: nova reset-state --active INSTANCE",
    ),
    readable(view.nova) === null ? unseen("--nova-db") : FINE,
  ]),
);

function* inFlight({ bm, nova, machinesOf }: Deployment<"bm">) {
  for (const { id, instance_uuid, task_state } of bm.nodes)
    if (instance_uuid && DEPLOYING.has(task_state ?? ""))
      yield { text: `bm_nodes.id=${id} ${task_state}`, machines: [id] };
  for (const row of readable(nova)?.instances ?? [])
    if (!row.deleted && row.task_state)
      yield { text: `instance ${row.uuid} ${row.task_state}`, machines: machinesOf(row) };
}

const WHAT = "requests are waiting in message queues";
const FIX =
  "run the listed commands on the message broker while nova-compute is stopped, then openstack server set --state active INSTANCE if task_state is set. Accept N2I-D243 for purged requests";

/** Requests that a nova-compute executes when it starts. @source facts/systems-measured.md A1+ */
const queued = check("Queued requests", ["bm", "nova"], (view) => {
  const { nova, claims } = view;
  const { unqueued } = nova;
  const found = nova.queued.map(({ instance, text }) => ({
    text: `instance ${instance} ${text}`,
    machines: claims(instance),
  }));
  const queuedUuids = new Set(nova.queued.map(({ instance }) => lower(instance)));
  // Tasks without an action. If the nova-compute is alive, it is working on them.
  const alive = new Set(reporting(nova).map(({ host }) => host));
  const busy = nova.instances.flatMap(({ uuid, host, task_state, deleted }) => {
    const machines = claims(uuid);
    return deleted ||
      host === null ||
      !task_state ||
      machines.length === 0 ||
      alive.has(host) ||
      queuedUuids.has(lower(uuid))
      ? []
      : [{ text: `instance ${uuid} ${taskStateText(task_state, host)}`, machines }];
  });
  return joined([
    judged(view, found, ["N2I-D243"], WHAT, FIX),
    judged(view, busy, ["N2I-D243", "N2I-D206", "N2I-D100"], WHAT, FIX),
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
const duplicates = check("Duplicate instances", ["bm"], (view) =>
  judged(
    view,
    claimedByTwo(view),
    ["N2I-D102", "N2I-D103"],
    "instances claimed by several machines",
    "nova show INSTANCE names the node that has it; for each of the others, in nova_bm: UPDATE bm_nodes SET instance_uuid=NULL WHERE id=ID AND instance_uuid='INSTANCE', then extract and plan again",
  ),
);

function* claimedByTwo({ bm, claims, line, isSkipped }: Deployment<"bm">) {
  for (const { id: machine, instance_uuid } of bm.nodes) {
    const ids = claims(instance_uuid);
    // Each instance once, with the first machine that claims it.
    if (ids.length < 2 || ids[0] !== machine) continue;
    const text = `${lower(instance_uuid)} by bm_nodes.id ${ids.join(" and ")}`;
    const rest = ids.filter((id) => !isSkipped(id));
    const having = (code: string): readonly number[] =>
      rest.filter((id) => line({ id })?.findings.has(code));
    const wrong = [having("N2I-D102"), having("N2I-D103"), rest.length > 1 ? rest : []];
    // One claim is no duplicate, so the skipped machines are listed.
    yield { text, machines: wrong.find((some) => some.length > 0) ?? ids.filter(isSkipped) };
  }
}

/**
 * Compares the instances of nova_bm and nova, without those of machines in Ironic. Only the machine
 * shows which side is wrong.
 * @source facts/nova-bm.md 1.11, 5.1
 */
const unmatched = check("Unmatched instances", ["bm", "nova"], (view) =>
  judged(
    view,
    withoutTheirLike(view),
    ["N2I-D201", "N2I-D103", "N2I-D203", "N2I-D207"],
    "instances that only nova_bm or only nova has",
    "look at the machine, then correct the wrong side: in nova_bm UPDATE bm_nodes SET instance_uuid=NULL WHERE id=ID AND instance_uuid='INSTANCE' where it is not there, or in nova UPDATE instances SET node='NODE' WHERE uuid='INSTANCE' AND deleted=0 where it is; nova delete INSTANCE for one that is nowhere; then extract and plan again (N2I-D201, D203)",
  ),
);

function* withoutTheirLike(view: Deployment<"bm" | "nova">) {
  const { bm, nova, ironic, claims, machines, machinesOf } = view;
  const rows = index(nova.instances, "uuid");
  for (const { id, uuid: machine, instance_uuid } of bm.nodes) {
    if (!instance_uuid) continue;
    const row = rows(instance_uuid).at(-1);
    const text = `bm_nodes.id=${id} ${lower(instance_uuid)}`;
    if (row === undefined) yield { text: `${text} is unknown to nova`, machines: [id] };
    if (row === undefined || row.deleted || lower(row.node) === lower(machine)) continue;
    // If one of several claims is right, Duplicate instances reports the others.
    const ids = claims(instance_uuid);
    if (machines(row.node).some((other) => ids.includes(other))) continue;
    yield { text: `${text} is on node ${row.node ?? "none"} in nova`, machines: [id] };
  }
  const native = index(readable(ironic)?.nodes ?? [], "instance_uuid");
  for (const row of nova.instances)
    if (!row.deleted && claims(row.uuid).length === 0 && native(row.uuid).length === 0)
      yield {
        text: `${row.uuid} is on ${row.node ?? `host ${row.host}`} only in nova`,
        machines: machinesOf(row),
      };
}

export const SOURCE = [computes, deploys, queued, duplicates, unmatched];
