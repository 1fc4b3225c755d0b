import type { CheckResult, CheckView } from "../../model/check.ts";
import { toldTaskState } from "../../model/requests.ts";
import { hasReported } from "../hosts/running.ts";
import { FINE, joined, judged, lower, machinesBy, warning, withBoth } from "./look.ts";

const WHAT = "requests wait in message queues";
const FIX =
  "run the commands named on the message broker while nova-compute is stopped, then openstack server set --state active INSTANCE where task_state is set; accept N2I-D243 for what was purged";

/** Requests that a nova-compute executes when it starts again. @source facts/systems-measured.md A1+ */
export function queued(view: CheckView): CheckResult {
  return withBoth(view, (bm, { queued, unqueued, instances, beats, later }) => {
    const claims = machinesBy(bm, "instance_uuid");
    const of = (instance: string) => claims.get(lower(instance)) ?? [];
    const found = queued.map(({ instance, told }) => ({
      text: `instance ${instance} ${told}`,
      machines: of(instance),
    }));
    const known = new Set(queued.map(({ instance }) => lower(instance)));
    // No action tells of these; whose nova-compute lives, it is at work on them.
    const before = new Map(beats.map((beat) => [beat.id, beat]));
    const alive = new Set(
      later.filter((now) => hasReported(before.get(now.id), now)).map(({ host }) => host),
    );
    const busy = instances.flatMap(({ uuid, host, task_state, deleted }) =>
      deleted ||
      host === null ||
      alive.has(host) ||
      !task_state ||
      known.has(lower(uuid)) ||
      of(uuid).length === 0
        ? []
        : [{ text: `instance ${uuid} ${toldTaskState(task_state, host)}`, machines: of(uuid) }],
    );
    return joined([
      judged(found, view.plan, ["N2I-D243"], WHAT, FIX),
      judged(busy, view.plan, ["N2I-D243", "N2I-D206", "N2I-D100"], WHAT, FIX),
      unqueued === null
        ? FINE
        : warning(
            `Whether requests wait was not looked at: this user may not read ${unqueued.tables.join(" and ")}.`,
            unqueued.grants.join("; "),
          ),
    ]);
  });
}
