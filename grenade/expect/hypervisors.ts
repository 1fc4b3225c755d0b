import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by a nova-compute that still has the legacy driver: skip the patch of nova.conf. */
export const hypervisors: Claim = {
  name: "Nova offers each live machine once, as a hypervisor of type ironic that is up",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const { hypervisors: there } = at(seen, "after");
    const { tenants, ill, doubted, free, errored, held, deleted } = seen.fleet;
    return [
      ...[...tenants, ...ill, ...free]
        .filter((node) => there[node]?.type !== "ironic" || there[node]?.state !== "up")
        .map((node) => `${node} is ${JSON.stringify(there[node])}`),
      ...[...errored, ...held, ...doubted]
        .filter((node) => there[node] !== undefined && there[node].type !== "ironic")
        .map((node) => `${node} is ${JSON.stringify(there[node])}`),
      ...deleted.filter((node) => there[node] !== undefined).map((node) => `${node} is deleted`),
    ];
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => ({
      ...moment,
      hypervisors: Object.fromEntries(
        Object.entries(moment.hypervisors).map(([node, one]) => [
          node,
          { ...one, type: "baremetal" },
        ]),
      ),
    })),
};
