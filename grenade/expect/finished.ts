import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by leaving `finish` out. */
export const finished: Claim = {
  name: "after finish no machine is protected any more",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) =>
    Object.entries(at(seen, "finished").nodes)
      .filter(([, node]) => node.protected)
      .map(([uuid]) => `${uuid} is protected`),
  broken: (seen) =>
    changed(seen, "finished", (moment) => ({
      ...moment,
      nodes: Object.fromEntries(
        Object.entries(moment.nodes).map(([uuid, one]) => [uuid, { ...one, protected: true }]),
      ),
    })),
};
