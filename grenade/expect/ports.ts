import type { Claim } from "../lib/claim.ts";
import type { Fleet, Moment } from "../lib/seen.ts";
import { at, changed, differences } from "./moments.ts";

/** Ports without the DHCP options, by number, that Ironic gives the machine it boots as a ramdisk, for good. */
export function own({ ports, servers }: Moment, { ramdisk }: Fleet): Moment["ports"] {
  const server = servers.find(({ node }) => node === ramdisk)?.id;
  return Object.fromEntries(
    Object.entries(ports).map(([id, port]) => [
      id,
      port.device === server
        ? { ...port, options: port.options.filter((option) => !/^\d+=/.test(option)) }
        : port,
    ]),
  );
}

/** Broken by `openstack port unset --host` of a tenant's port, or by a VIF that is attached again through Ironic. */
export const ports: Claim = {
  name: "every server's port is the same afterwards: id, MAC, addresses, DHCP options, server and binding; nobody bound or unbound one",
  phases: ["forward", "plugin"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "finished")];
    if (Object.keys(before.ports).length === 0) throw new Error("there was no port");
    return [
      ...differences("port", before.ports, own(after, seen.fleet)),
      ...after.bindings.slice(before.bindings.length),
    ];
  },
  broken: (seen) =>
    changed(seen, "finished", (moment) => ({
      ...moment,
      bindings: [...moment.bindings, "a-port: from compute-1 to nobody"],
    })),
};
