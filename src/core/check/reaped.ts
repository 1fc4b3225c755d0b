import type { CheckResult, CheckView } from "../../model/check.ts";
import { joined, judged, lower, machinesBy, told, withBoth } from "./look.ts";

/** What a tenant deleted and may restore; Nova ends it by itself after reclaim_instance_interval. */
const SOFT = "soft-delete";

/**
 * nova-compute tears a machine down whose instance is deleted when it starts, and one that is to be
 * reclaimed once its time is over.
 *
 * @source facts/ironic.md 5.2; nova 2014.2:nova/compute/manager.py _reclaim_queued_deletes
 */
export function reaped(view: CheckView): CheckResult {
  return withBoth(view, (bm, nova) => {
    const gone = new Set(
      nova.instances.filter(({ deleted }) => deleted).map(({ uuid }) => lower(uuid)),
    );
    const claimed = machinesBy(bm, "instance_uuid");
    const queued = nova.instances
      .filter(({ deleted, vm_state }) => !deleted && vm_state === SOFT)
      .flatMap(({ uuid }) =>
        (claimed.get(lower(uuid)) ?? [])
          .filter((id) => view.plan?.skipped.has(id) !== true)
          .map((id) => `bm_nodes.id=${id} ${uuid}`),
      );
    return joined([
      judged(
        bm.nodes
          .filter(({ instance_uuid }) => gone.has(lower(instance_uuid)))
          .map(({ id, instance_uuid }) => ({
            text: `bm_nodes.id=${id} ${instance_uuid}`,
            machines: [id],
          })),
        view.plan,
        ["N2I-D202"],
        "machines whose instance is deleted in nova, which tears down what a node names",
        "nova2ironic explain N2I-D202, and decide on each machine; running_deleted_instance_action=noop in every nova.conf until then",
      ),
      told(
        queued,
        "machines whose tenant deleted the instance, which nova-compute tears down after reclaim_instance_interval",
        "nova restore INSTANCE for one that is to stay, nova force-delete INSTANCE for one that is not",
        "Warning",
      ),
    ]);
  });
}
