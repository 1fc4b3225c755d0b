import { counted, createSeveral } from "../../../lib/text.ts";
import type { BmFacts, NovaFacts, PlanFacts } from "../../../model/check.ts";
import type { FindingCode } from "../../../model/findings.ts";
import { LIBERTY, versionName } from "../../../model/nova/nova-release.ts";
import { index } from "../../../model/rows.ts";
import {
  check,
  checkWithPlan,
  fine,
  joined,
  judged,
  lower,
  machinesBy,
  planned,
  readable,
  resultOf,
  unreadable,
  warning,
} from "./part.ts";

/** Findings that block a machine whose instance is on a wrong host, and that can be accepted. */
const ACCEPTABLE: readonly FindingCode[] = ["N2I-D225", "N2I-D226", "N2I-D227"];
const FIX =
  "nova2ironic plan --nova-db DB --compute-host NAME, then apply --nova-db DB; explain N2I-D225 and N2I-D227";

/**
 * Compares each instance's planned host and node with its machine's nova-compute.
 * @source facts/nova-bm.md 5.2, 5.3; facts/rehearsal.md 5
 */
const hosts = checkWithPlan("Hosts of instances", ["bm", "nova"], ({ bm, nova, plan, ironic }) => {
  const clustered = readable(ironic)?.clustered === true;
  const [open, taken] = [createSeveral(), createSeveral()];
  /** The host of the first instance without a fault. */
  let only: string | null | undefined;
  let count = 0;
  for (const { uuid, host, fault, accepted } of tenantsOf(bm, nova, plan)) {
    count += 1;
    if (fault === null && only === undefined) only = host;
    const apart = clustered && host !== only ? `${uuid} under ${host}, others under ${only}` : null;
    const what = fault ?? apart;
    if (what !== null) (accepted ? taken : open).add(what);
  }
  if (open.length + taken.length === 0)
    return fine(
      `${counted(count, "instance has", "instances have")} the nova-compute host of the machine.`,
    );
  const what = "instances whose host is not the nova-compute of their machine";
  return open.length > 0
    ? resultOf(open, `${what}, and which nova-compute through Kilo destroys when it starts`, FIX)
    : resultOf(taken, `${what}, as you accepted`, FIX, "Warning");
});

function* tenantsOf(bm: BmFacts, nova: NovaFacts, plan: PlanFacts | null) {
  const instances = index(nova.instances, "uuid");
  const lines = planned(plan);
  const services = new Set(nova.beats.map(({ host }) => host));
  for (const { id, uuid: machine, instance_uuid, service_host } of bm.nodes) {
    const row = instances(instance_uuid).at(-1);
    // Missing and deleted instances have their own rows.
    if (row === undefined || row.deleted || plan?.skipped.has(id)) continue;
    const line = lines({ uuid: machine, id });
    const held = ACCEPTABLE.filter((code) => line?.findings.has(code));
    // A machine that is not loaded, or loaded without its instance, is not at risk.
    if (line?.blocked ? held.length === 0 : line?.instance_uuid === null) continue;
    const uuid = lower(instance_uuid);
    const { host, node } = plan?.nova?.movedTo.get(uuid) ?? row;
    const runs = line?.host ?? service_host;
    const hasCompute = runs !== null && (services.has(runs) || plan?.nova?.hosts.includes(runs));
    const under = host ?? "none";
    /** Of the instance's location. */
    const [fault = null] = [
      ...(host === runs ? [] : [`${uuid} under ${under}, its nova-compute is ${runs ?? "none"}`]),
      ...(lower(node) === lower(machine)
        ? []
        : [`${uuid} on node ${node ?? "none"}, its machine is ${machine ?? "none"}`]),
      ...(hasCompute ? [] : [`${uuid} under ${under}, which is not a nova-compute host`]),
    ];
    const accepted = held.some((code) => line?.findings.get(code) === true);
    yield { uuid, host, fault, accepted };
  }
}

/**
 * Since Liberty, nova-compute destroys by evacuation records. Before, it destroys at start every
 * instance of another host that its driver reports.
 * @source facts/nova-bm.md 5.3; facts/rehearsal.md 5
 */
const evacuations = check("Evacuation records", ["bm", "nova"], (view) => {
  const { bm, nova } = view;
  const { evacuations: records } = nova;
  if (records === null && nova.version >= LIBERTY)
    return warning(
      `Nova ${versionName(nova.version)} keeps evacuation records, but they cannot be read, because there is no migrations table with a migration_type.`,
      "GRANT SELECT on migrations to this user, or compare --nova-db",
    );
  if (records === null) {
    const { result, details } = hosts.inspect(view);
    const habit =
      "This Nova does not keep evacuation records. Through Kilo, when nova-compute starts, it destroys every instance on its machines that has a different host";
    return result === "Success"
      ? fine(`${habit}. No instance will have a different host.`)
      : { result, details: `${habit}. ${details}` };
  }
  const claimed = machinesBy(bm, "instance_uuid");
  return judged(
    records.map(({ instance_uuid, source }) => ({
      text: `${instance_uuid} from ${source}`,
      machines: claimed(instance_uuid),
    })),
    view.plan,
    [],
    "evacuation records: nova-compute destroys the instance when it starts",
    "keep what SELECT * FROM migrations WHERE migration_type='evacuation' prints; then UPDATE migrations SET status='completed' WHERE migration_type='evacuation' AND status IN ('accepted','pre-migrating','done') AND deleted=0 AND instance_uuid='INSTANCE'",
  );
});

/** Ironic before Pike cannot attach volumes. @source facts/nova-bm.md 5.1 */
const volumes = check(
  "Attached volumes",
  ["bm", "nova"],
  ({ bm, nova: { volumes: attached }, plan }) => {
    if (attached === null) return unreadable("--nova-db", "block_device_mapping");
    const claimed = machinesBy(bm, "instance_uuid");
    return judged(
      attached.map((uuid) => ({ text: uuid, machines: claimed(uuid) })),
      plan,
      ["N2I-D220"],
      "instances with volumes attached",
      "nova volume-detach INSTANCE VOLUME",
    );
  },
);

/**
 * nova-compute undeploys machines of deleted or reclaimed instances. @source facts/ironic.md 5.2;
 * nova 2014.2:nova/compute/manager.py _reclaim_queued_deletes
 */
const reaped = check("Deleted instances", ["bm", "nova"], ({ bm, nova, plan }) => {
  const claimed = machinesBy(bm, "instance_uuid");
  const rows = index(nova.instances, "uuid");
  const queued = createSeveral();
  // It can be restored until Nova removes it after reclaim_instance_interval.
  for (const { uuid, deleted, vm_state } of nova.instances)
    for (const id of deleted || vm_state !== "soft-delete" ? [] : claimed(uuid))
      if (plan?.skipped.has(id) !== true) queued.add(`bm_nodes.id=${id} ${uuid}`);
  return joined([
    judged(
      bm.nodes.flatMap(({ id, instance_uuid }) =>
        rows(instance_uuid).some(({ deleted }) => deleted)
          ? [{ text: `bm_nodes.id=${id} ${instance_uuid}`, machines: [id] }]
          : [],
      ),
      plan,
      ["N2I-D202"],
      "machines whose instance is deleted in nova, and which nova-compute would tear down",
      "run nova2ironic explain N2I-D202, and decide on each machine. Until then, set running_deleted_instance_action=noop in every nova.conf",
    ),
    resultOf(
      queued,
      "machines whose tenant deleted the instance, which nova-compute tears down after reclaim_instance_interval",
      "nova restore INSTANCE to keep it, or nova force-delete INSTANCE to delete it",
      "Warning",
    ),
  ]);
});

export const RECORDS = [reaped, hosts, evacuations, volumes];
