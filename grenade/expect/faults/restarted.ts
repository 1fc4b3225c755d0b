import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";
import { ended, live, ran } from "./ran.ts";

/** Broken by a server that lost what was committed: verify does not end with 0. */
export const restarted: Claim = {
  name: "an apply that loses its database server says so, and the same command goes on",
  phases: ["faults"],
  check: (seen) => {
    const { loaded } = at(seen, "restarted");
    return [
      ...(ran(seen, "restarted-meanwhile").status === 0
        ? ["the apply ended with 0 all the same"]
        : []),
      ...ended(seen, 0, ["restarted-apply", "restarted-verify"]),
      ...(loaded === live(seen.fleet) ? [] : [`${loaded} nodes are loaded`]),
    ];
  },
  broken: (seen) => changed(seen, "restarted", (moment) => ({ ...moment, loaded: 0 })),
};
