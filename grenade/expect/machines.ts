import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by one `systemctl stop` of a tenant through its BMC: `ipmitool power off`. */
export const machines: Claim = {
  name: "no BMC was told anything, and every machine is on or off as before",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "finished")];
    return [
      ...after.commands.slice(before.commands.length),
      ...Object.keys(before.power)
        .filter((node) => before.power[node] !== after.power[node])
        .map((node) => `${node} was ${before.power[node] ? "on" : "off"} and is not`),
    ];
  },
  broken: (seen) =>
    changed(seen, "finished", (moment) => ({
      ...moment,
      commands: [...moment.commands, "a-machine power 0"],
    })),
};
