import type { FormatOptions } from "../../lib/table/format.ts";
import type { VerifyAsked } from "../../migrate/verify/verify.ts";
import type { TakeoverAsked } from "../../window/handover/verify-takeover.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, word, words } from "./declared.ts";
import { listOptions } from "./format.ts";
import { common, NOVA_DATABASES, TARGET } from "./shared.ts";

export interface VerifyArgs
  extends Voice,
    Omit<FormatOptions, "allRows">,
    VerifyAsked,
    TakeoverAsked {
  readonly takeover: boolean;
  readonly novaBmDb?: string;
  readonly queuePurged: boolean;
}

export const verifyOptions: Declared = {
  command: "verify",
  describe: "Compare Ironic row by row with the plan; trusts no counter and writes nothing",
  options: {
    ...common("run", ...TARGET, ...NOVA_DATABASES),
    takeover: flag("Show instead how far the hand-over of each machine is"),
    final: flag(
      "nova-compute has started: fail on a machine without hypervisor, in maintenance, without power state or with an error",
    ),
    "placement-db": word(
      "With --nova-db: Placement's database, given the same way: resource providers too",
    ),
    "conductor-log": words(
      "With --takeover: log of a conductor, FILE or FILE:LINE to begin there. Repeatable",
    ),
    "compute-log": words(
      "With --final: log of a nova-compute, FILE or FILE:LINE to leave out what came before: its last start must be with the ironic driver, and without a fault since. Repeatable",
    ),
    "nova-bm-db": word(
      "Of a run that moves machines of nova-baremetal between hosts: nova_bm, given the same way",
    ),
    "queue-purged": flag(
      "Of a run that moves machines between hosts: the operator's word that compute.HOST was emptied",
    ),
    ...common("key-file"),
    ...listOptions,
    "all-rows": { ...listOptions["all-rows"], describe: "List validated rows too, and every row" },
  },
  exclude: ["takeover: nova-db final"],
  want: [
    ...["takeover: ironic-db", "placement-db: nova-db"],
    ...["conductor-log: takeover", "compute-log: final"],
  ],
  examples: ["$0 verify --run m1 --ironic-db conf:/etc/ironic/ironic.conf -f csv"],
};
