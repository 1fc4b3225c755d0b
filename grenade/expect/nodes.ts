import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by a row inserted into nova_bm after extract, or a `bm_nodes.deleted` set to 0. */
export const nodes: Claim = {
  name: "Ironic has each live machine once: tenants active with their instance, the free available, the doubtful in maintenance, the deleted not",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const { nodes: there, servers } = at(seen, "after");
    const { tenants, ill, doubted, free: unused, errored, held, deleted } = seen.fleet;
    const instances = new Map(servers.map(({ node, id }) => [node, id]));
    // Scripts of the plugin bring tenants of their own.
    const booked = unused.filter((uuid) => instances.has(uuid));
    const free = unused.filter((uuid) => !instances.has(uuid));
    const wrong = (kind: string, all: readonly string[], holds: (uuid: string) => boolean) =>
      all
        .filter((uuid) => !holds(uuid))
        .map((uuid) => `${kind} ${uuid} is ${JSON.stringify(there[uuid])}`);
    return [
      ...wrong("tenant", [...tenants, ...ill, ...booked], (uuid) => {
        const node = there[uuid];
        return (
          node?.provision_state === "active" &&
          node.instance_uuid === instances.get(uuid) &&
          node.power_state === "power on" &&
          !node.maintenance &&
          node.protected
        );
      }),
      ...wrong("free machine", free, (uuid) => {
        const node = there[uuid];
        return (
          node?.provision_state === "available" &&
          node.power_state === "power off" &&
          !node.maintenance
        );
      }),
      ...wrong(
        "machine in doubt",
        [...errored, ...held, ...doubted],
        (uuid) => there[uuid]?.maintenance === true,
      ),
      ...wrong(
        "machine in doubt with a server",
        doubted,
        (uuid) => there[uuid]?.instance_uuid === instances.get(uuid),
      ),
      ...wrong("deleted machine", deleted, (uuid) => there[uuid] === undefined),
      ...Object.entries(there)
        .filter(([, { last_error, maintenance }]) => last_error !== null && !maintenance)
        .map(([uuid, { last_error }]) => `${uuid}: ${last_error}`),
    ];
  },
  broken: (seen) => changed(seen, "after", (moment) => ({ ...moment, nodes: {} })),
};

/** Broken by a site document without `deploy_interface`. The plugin's scripts write their own, which has none. */
export const deployInterfaces: Claim = {
  name: "One tenant's node has the deploy interface ramdisk, and no other node has it",
  phases: ["forward", "tempest"],
  check: (seen) => {
    const found = Object.entries(at(seen, "after").nodes);
    const expected = seen.fleet.ramdisk;
    const ramdisk = found.filter(([, node]) => node.deploy_interface === "ramdisk");
    const uuids = ramdisk.map(([uuid]) => uuid).toSorted();
    return uuids.join() === expected ? [] : [`expected ${expected}, found ${uuids.join(", ")}`];
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => {
      const nodes = Object.entries(moment.nodes).map(
        ([uuid, node]) => [uuid, { ...node, deploy_interface: "direct" }] as const,
      );
      return { ...moment, nodes: Object.fromEntries(nodes) };
    }),
};
