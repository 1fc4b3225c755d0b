import type { Claim } from "../lib/claim.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by a nova-compute that starts while Ironic is empty: it deletes every row as an orphan. */
export const computeNodes: Claim = {
  name: "each machine keeps its row of compute_nodes, id and uuid",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before").computeNodes, at(seen, "after").computeNodes];
    if (Object.keys(before).length === 0) throw new Error("there was no compute node");
    return differences("compute node", before, after);
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => ({
      ...moment,
      computeNodes: Object.fromEntries(
        Object.entries(moment.computeNodes).map(([node, one]) => [
          node,
          { ...one, id: one.id + 1 },
        ]),
      ),
    })),
};
