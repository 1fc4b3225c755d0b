import type { Claim } from "../../lib/claim.ts";
import { at, changed, differences } from "../moments.ts";
import { refused } from "./ran.ts";

/** Broken by `--allow-running-compute`. */
export const running: Claim = {
  name: "apply and rollback refuse while a nova-compute reports, and change nothing",
  phases: ["faults"],
  check: (seen) => {
    const [before, apply] = [at(seen, "before"), at(seen, "running")];
    const [staged, rollback] = [at(seen, "staged"), at(seen, "running-back")];
    return [
      ...refused(seen, "N2I-E310", ["running-apply", "running-rollback"]),
      ...(apply.loaded === 0 ? [] : [`${apply.loaded} nodes were loaded`]),
      ...differences("extra spec", before.flavor, apply.flavor),
      ...(rollback.loaded === staged.loaded ? [] : [`${rollback.loaded} nodes are left`]),
      ...differences("extra spec", staged.flavor, rollback.flavor),
    ];
  },
  broken: (seen) => changed(seen, "running-back", (moment) => ({ ...moment, loaded: 0 })),
};
