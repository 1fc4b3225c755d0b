import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";
import { ended, ran } from "./ran.ts";

/** Broken by a hand-over that says nothing of the dead conductor: it ends with 0. */
export const conductor: Claim = {
  name: "a hand-over whose conductor dies says so, and the same command goes on once it is back: every tenant is taken over, none is switched",
  phases: ["faults"],
  check: (seen) => {
    const [before, after] = [at(seen, "staged"), at(seen, "conductor")];
    const dies = ran(seen, "conductor-dies");
    return [
      ...(dies.status === 0 ? ["the hand-over ended with 0 without its conductor"] : []),
      ...ended(seen, 0, ["conductor-handover", "conductor-takeover"]),
      ...seen.fleet.tenants
        .filter(
          (uuid) =>
            after.nodes[uuid]?.maintenance !== false ||
            after.nodes[uuid].power_state !== "power on",
        )
        .map((uuid) => `${uuid} is ${JSON.stringify(after.nodes[uuid])}`),
      ...after.commands.slice(before.commands.length),
    ];
  },
  broken: (seen) => changed(seen, "conductor", (moment) => ({ ...moment, nodes: {} })),
};
