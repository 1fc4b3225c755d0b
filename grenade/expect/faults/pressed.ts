import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";

/** Broken by a row that has power_state 'power on': Ironic switches the machine on again. */
export const pressed: Claim = {
  name: "machines whose power somebody changed before the hand-over are left as they are, and Ironic sees how",
  phases: ["faults"],
  check: (seen) => {
    const [before, after] = [at(seen, "pressed"), at(seen, "pressed-over")];
    return [
      ...after.commands.slice(before.commands.length),
      ...Object.keys(before.power)
        .filter((node) => before.power[node] !== after.power[node])
        .map((node) => `${node} was switched`),
      ...Object.entries(after.nodes)
        .filter(
          ([uuid, node]) =>
            !node.maintenance && node.power_state !== powerState(before.power[uuid]),
        )
        .map(([uuid, node]) => `${uuid} is ${node.power_state} to Ironic`),
    ];
  },
  broken: (seen) =>
    changed(seen, "pressed-over", (moment) => ({
      ...moment,
      commands: [...moment.commands, "a-machine power 1"],
    })),
};

function powerState(on: boolean | undefined): string {
  return on === true ? "power on" : "power off";
}
