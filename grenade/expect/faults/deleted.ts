import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";
import { refused } from "./ran.ts";

/** Broken by a plan that is made again after the tenant went. */
export const deleted: Claim = {
  name: "a plan from before a tenant deleted his server is refused, and nothing is loaded",
  phases: ["faults"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "deleted-refused")];
    const gone = before.servers.length - after.servers.length;
    const faults = seen.acts.flatMap(({ what, fault }) =>
      fault === null ? [] : [`${what}: ${fault}`],
    );
    return [
      ...faults,
      ...(gone === 1 ? [] : [`${gone} servers are gone`]),
      ...refused(seen, "N2I-E300", ["deleted-apply"]),
      ...(after.loaded === 0 ? [] : [`${after.loaded} nodes were loaded`]),
    ];
  },
  broken: (seen) => changed(seen, "deleted-refused", (moment) => ({ ...moment, loaded: 1 })),
};
