import { createSeveral } from "../../../lib/text.ts";
import type { BmFacts, NovaFacts } from "../../../model/check.ts";
import { LIBERTY, versionName } from "../../../model/nova/nova-release.ts";
import { taskStateText } from "../../../model/nova/requests.ts";
import { index } from "../../../model/rows.ts";
import { hosts } from "./hosts.ts";
import {
  FINE,
  fine,
  joined,
  judged,
  lower,
  type MachineFact,
  machinesBy,
  needing,
  resultOf,
  unreadable,
  warning,
} from "./look.ts";
import { reporting } from "./source.ts";

/**
 * Since Liberty, nova-compute destroys by evacuation records. Before, it destroys at start every
 * instance of another host that its driver reports.
 * @source facts/nova-bm.md 5.3; facts/rehearsal.md 5
 */
export const evacuations = needing(["bm", "nova"], (view) => {
  const { bm, nova } = view;
  const { evacuations: records } = nova;
  if (records === null && nova.version >= LIBERTY)
    return warning(
      `Nova ${versionName(nova.version)} keeps evacuation records, but they cannot be read, because there is no migrations table with a migration_type.`,
      "GRANT SELECT on migrations to this user, or compare --nova-db",
    );
  if (records === null) {
    const { result, details } = hosts(view);
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
export const volumes = needing(["bm", "nova"], ({ bm, nova: { volumes: attached }, plan }) => {
  if (attached === null) return unreadable("--nova-db", "block_device_mapping");
  const claimed = machinesBy(bm, "instance_uuid");
  return judged(
    attached.map((uuid) => ({ text: uuid, machines: claimed(uuid) })),
    plan,
    ["N2I-D220"],
    "instances with volumes attached",
    "nova volume-detach INSTANCE VOLUME",
  );
});

const WHAT = "requests are waiting in message queues";
const FIX =
  "run the listed commands on the message broker while nova-compute is stopped, then openstack server set --state active INSTANCE if task_state is set. Accept N2I-D243 for purged requests";

/** Requests that a nova-compute executes when it starts. @source facts/systems-measured.md A1+ */
export const queued = needing(["bm", "nova"], ({ bm, nova, plan }) => {
  const { queued, unqueued, instances } = nova;
  const of = machinesBy(bm, "instance_uuid");
  const found = queued.map(({ instance, text }) => ({
    text: `instance ${instance} ${text}`,
    machines: of(instance),
  }));
  const known = new Set(queued.map(({ instance }) => lower(instance)));
  // Tasks without an action. If the nova-compute is alive, it is working on them.
  const alive = new Set(reporting(nova).map(({ host }) => host));
  function* busy(): Generator<MachineFact> {
    for (const { uuid, host, task_state, deleted } of instances) {
      if (deleted || host === null || !task_state) continue;
      if (alive.has(host) || known.has(lower(uuid)) || of(uuid).length === 0) continue;
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

/** A deleted instance that can be restored. Nova removes it after reclaim_instance_interval. */
const SOFT = "soft-delete";

/**
 * nova-compute undeploys machines of deleted or reclaimed instances. @source facts/ironic.md 5.2;
 * nova 2014.2:nova/compute/manager.py _reclaim_queued_deletes
 */
export const reaped = needing(["bm", "nova"], ({ bm, nova, plan }) => {
  const claimed = machinesBy(bm, "instance_uuid");
  const queued = createSeveral();
  for (const { uuid, deleted, vm_state } of nova.instances)
    for (const id of deleted || vm_state !== SOFT ? [] : claimed(uuid))
      if (plan?.skipped.has(id) !== true) queued.add(`bm_nodes.id=${id} ${uuid}`);
  return joined([
    judged(
      gone(bm, nova),
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

function* gone(bm: BmFacts, { instances }: NovaFacts): Generator<MachineFact> {
  const rows = index(instances, "uuid");
  for (const { id, instance_uuid } of bm.nodes)
    if (rows(instance_uuid).some(({ deleted }) => deleted))
      yield { text: `bm_nodes.id=${id} ${instance_uuid}`, machines: [id] };
}
