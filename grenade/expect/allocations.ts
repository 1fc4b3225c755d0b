import type { Claim } from "../lib/claim.ts";
import type { Moment } from "../lib/seen.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by `openstack resource provider allocation delete` of one server. */
export const allocations: Claim = {
  name: "Placement's providers and allocations are the same, and machines in use are reserved",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "after")];
    const { tenants, ill, doubted } = seen.fleet;
    const used = [...tenants, ...ill, ...doubted].map(
      (node) => after.providers[node]?.inventory.CUSTOM_BM,
    );
    return [
      ...differences("provider", held(before), held(after)),
      ...used
        .filter((one) => one?.total !== 1 || one.reserved !== 1)
        .map((one) => `the inventory of a machine in use is ${JSON.stringify(one)}`),
    ];
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => ({
      ...moment,
      providers: Object.fromEntries(
        Object.entries(moment.providers).map(([id, one]) => [id, { ...one, allocations: {} }]),
      ),
    })),
};

/** Names and allocations: inventories change by design, with reserved. */
export function held({ providers }: Moment): { readonly [uuid: string]: object } {
  return Object.fromEntries(
    Object.entries(providers).map(([uuid, { name, allocations: all }]) => [uuid, { name, all }]),
  );
}
