import type { Claim } from "../../lib/claim.ts";
import { DEATHS } from "../../lib/faults.ts";
import { held } from "../allocations.ts";
import { at, differences } from "../moments.ts";
import { ended, ending, live } from "./ran.ts";

const COMMANDS = Object.entries(DEATHS);
/** How each ends once nobody kills it. */
const WHOLE = [
  ...COMMANDS.map(([command]) => `killed-${command}`),
  "killed-verify",
  "killed-takeover",
];

/** Broken by a place the run does not come to: its command is not killed there. */
export const killed: Claim = {
  name: "killed at each kind of place, apply, handover, finish and rollback go on, and end as if nothing had been",
  phases: ["faults"],
  check: (seen) => {
    const [before, staged, back] = [
      at(seen, "before"),
      at(seen, "staged"),
      at(seen, "killed-back"),
    ];
    const deaths = COMMANDS.flatMap(([command, points]) =>
      points.map((point) => `killed-${command}-${point}`),
    );
    return [
      ...ended(seen, "SIGKILL", deaths),
      ...ended(seen, 0, WHOLE),
      ...(staged.loaded === live(seen.fleet) ? [] : [`${staged.loaded} nodes were staged`]),
      ...Object.entries(at(seen, "killed-finished").nodes)
        .filter(([, node]) => node.protected)
        .map(([uuid]) => `${uuid} is protected after finish`),
      ...(back.loaded === 0 ? [] : [`${back.loaded} nodes are left in Ironic`]),
      ...differences("extra spec", before.flavor, back.flavor),
      ...differences("compute node", before.computeNodes, back.computeNodes),
      ...differences("provider", held(before), held(back)),
      ...back.commands.slice(before.commands.length),
    ];
  },
  broken: (seen) => ending(seen, "killed-apply-commit.after:1", 0),
};
