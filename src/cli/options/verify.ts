import type { FormatOptions } from "../../lib/table/format.ts";
import type { VerifyRequest } from "../../migrate/verify/verify.ts";
import type { TakeoverRequest } from "../../window/handover/handover.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, list, string } from "./declared.ts";
import { listOptions } from "./format.ts";
import { common, NOVA_DATABASES, TARGET } from "./shared.ts";

export interface VerifyArgs
  extends Voice,
    Omit<FormatOptions, "allRows">,
    VerifyRequest,
    TakeoverRequest {
  readonly takeover: boolean;
  readonly novaBmDb?: string;
  readonly queuePurged: boolean;
}

export const verifyOptions: Declared = {
  command: "verify",
  describe: "Compare every Ironic row with the plan, without writing to any database",
  options: {
    ...common("run", ...TARGET, ...NOVA_DATABASES),
    takeover: flag("Show the progress of each machine's hand-over instead"),
    final: flag(
      "After nova-compute has started: fail if a machine has no hypervisor or power state, has an error, or is in maintenance",
    ),
    "placement-db": string("With --nova-db: Placement's database, to compare resource providers"),
    "conductor-log": list(
      "With --takeover: conductor log: FILE, or FILE:LINE to start at a line. Repeatable",
    ),
    "compute-log": list(
      "With --final: nova-compute log: FILE, or FILE:LINE to start at a line. Its last start must use the ironic driver, without later errors. Repeatable",
    ),
    "nova-bm-db": string(
      "For moves of nova-baremetal machines between hosts: the nova_bm database",
    ),
    "queue-purged": flag("For host moves: you confirm that the queue compute.HOST is empty"),
    ...common("key-file"),
    ...listOptions,
    "all-rows": {
      ...listOptions["all-rows"],
      describe: "Show every row, including validated rows",
    },
  },
  exclude: ["takeover: nova-db final"],
  needed: [
    ...["takeover: ironic-db", "placement-db: nova-db"],
    ...["conductor-log: takeover", "compute-log: final"],
  ],
  examples: ["$0 verify --run m1 --ironic-db conf:/etc/ironic/ironic.conf -f csv"],
};
