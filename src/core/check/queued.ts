import type { CheckView, Looked } from "../../model/check.ts";
import { judged, lower, machinesBy, withBoth } from "./look.ts";

/** Requests that a nova-compute executes when it starts again. @source facts/systems-measured.md A1+ */
export function queued(view: CheckView): Looked {
  return withBoth(view, (bm, { queued }) => {
    const claims = machinesBy(bm, "instance_uuid");
    const found = queued.map(({ instance, told }) => ({
      text: `instance ${instance} ${told}`,
      machines: claims.get(lower(instance)) ?? [],
    }));
    return judged(
      found,
      view.plan,
      ["N2I-D243"],
      "requests wait in message queues",
      "run the commands named on the message broker while nova-compute is stopped, then openstack server set --state active INSTANCE where task_state is set; accept N2I-D243 for what was purged",
    );
  });
}
