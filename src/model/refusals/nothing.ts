import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { refused } = EXIT_STATUS;

/** N2I-E325 and E326: commands that would end well and have done or compared nothing. */
export const NOTHING = {
  "N2I-E325": {
    exit: refused.status,
    title: "the plan loads no machine",
    why: "A load of nothing would still change flavors and hosts in Nova, and look like a success.",
    fix: "Fix the data or accept the findings in the site document, then run plan again; --skip-blocked does not help here.",
  },
  "N2I-E326": {
    exit: refused.status,
    title: "there is nothing to compare",
    why: "Equal would be true of nothing: this look compared no row, no machine and no setting.",
    fix: "Run status to see what the run holds; check --run, --node and the databases given.",
  },
} as const satisfies Record<string, Refusal>;
