import type { Claim } from "../lib/claim.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by `openstack port unset --host` of a tenant's port, or by a VIF that is attached again through Ironic. */
export const ports: Claim = {
  name: "every server's port is the same afterwards: id, MAC, addresses, DHCP options, server and binding; nobody bound or unbound one",
  phases: ["forward", "plugin"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "finished")];
    if (Object.keys(before.ports).length === 0) throw new Error("there was no port");
    return [
      ...differences("port", before.ports, after.ports),
      ...after.bindings.slice(before.bindings.length),
    ];
  },
  broken: (seen) =>
    changed(seen, "finished", (moment) => ({
      ...moment,
      bindings: [...moment.bindings, "a-port: from compute-1 to nobody"],
    })),
};
