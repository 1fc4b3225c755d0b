import type { Claim } from "../../lib/claim.ts";
import { at, changed } from "../moments.ts";
import { ended } from "./ran.ts";

/** Broken by a BMC that answers after all: nothing keeps its machine in maintenance. */
export const silent: Claim = {
  name: "a tenant whose BMC is silent comes in maintenance with the reason; all others are taken over, and nobody is switched",
  phases: ["faults"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "silent")];
    const [mute = "", ...others] = seen.fleet.tenants;
    const node = after.nodes[mute];
    const reason = node?.maintenance_reason ?? "";
    return [
      ...ended(seen, 0, ["silent-plan", "silent-apply"]),
      ...(node?.maintenance === true && reason !== "" && node.provision_state === "active"
        ? []
        : [`the silent one is ${JSON.stringify(node)}`]),
      ...others
        .filter(
          (uuid) => after.nodes[uuid]?.power_state !== "power on" || after.nodes[uuid].maintenance,
        )
        .map((uuid) => `${uuid} is ${JSON.stringify(after.nodes[uuid])}`),
      ...after.servers
        .filter(({ status }) => status !== "ACTIVE")
        .map(({ name }) => `${name} is not ACTIVE`),
      ...after.commands.slice(before.commands.length),
    ];
  },
  broken: (seen) =>
    changed(seen, "silent", (moment) => ({
      ...moment,
      nodes: Object.fromEntries(
        Object.entries(moment.nodes).map(([uuid, one]) => [uuid, { ...one, maintenance: false }]),
      ),
    })),
};
