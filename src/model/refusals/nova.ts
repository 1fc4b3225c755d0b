import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

/** N2I-E314: what is on its way in Nova. */
export const QUEUED = {
  "N2I-E314": {
    exit: EXIT_STATUS.refused.status,
    title: "requests wait in the message queue of a nova-compute",
    why: "It executes them when it starts again, on a machine that another host has by then: a tenant is switched off.",
    fix: "Run the commands named on the message broker, openstack server set --state active INSTANCE where task_state is set, then the same command again with --allow-queued-requests.",
  },
} as const satisfies Record<string, Refusal>;
