import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";
import { ended, ran, refused } from "./ran.ts";

/** Broken by a BMC that answers: nothing is blocked, and apply loads its machine. */
export const silent: Claim = {
  name: "a machine whose BMC is silent blocks the plan, and apply refuses it",
  phases: ["faults"],
  check: (seen) => {
    const { loaded } = at(seen, "silent-refused");
    return [
      ...refused(seen, "N2I-E304", ["silent-apply"]),
      ...(loaded === 0 ? [] : [`${loaded} nodes were loaded`]),
    ];
  },
  broken: (seen) => changed(seen, "silent-refused", (moment) => ({ ...moment, loaded: 1 })),
};

/** Broken by a verify that believes a machine nobody could ask: it ends with 0. */
export const mute: Claim = {
  name: "a BMC that falls silent before the hand-over costs its machine alone, and verify says so; once it answers, all is well",
  phases: ["faults"],
  check: (seen) => {
    const [before, then, after] = [at(seen, "staged"), at(seen, "mute"), at(seen, "mute-over")];
    const [first = "", ...others] = seen.fleet.tenants;
    return [
      ...(ran(seen, "mute-verify").status === 0 ? ["verify --takeover ended with 0"] : []),
      ...ended(seen, 0, ["mute-takeover"]),
      ...others
        .filter((uuid) => then.nodes[uuid]?.power_state !== "power on")
        .map((uuid) => `${uuid} was ${JSON.stringify(then.nodes[uuid])}`),
      ...[first, ...others]
        .filter(
          (uuid) => after.nodes[uuid]?.power_state !== "power on" || after.nodes[uuid].maintenance,
        )
        .map((uuid) => `${uuid} is ${JSON.stringify(after.nodes[uuid])}`),
      ...after.commands.slice(before.commands.length),
    ];
  },
  broken: (seen) => changed(seen, "mute-over", (moment) => ({ ...moment, nodes: {} })),
};
