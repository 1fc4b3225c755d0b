import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

const ACTS = ["delete all servers", "give doubtful machines back", "leave nothing", "end the run"];

/** Broken by a server that is left: a machine is in use then, has an allocation, and is on. */
export const destroyed: Claim = {
  name: "after all servers are deleted every machine is available and off, Placement has no allocation and Neutron no port",
  phases: ["plugin"],
  check: (seen) => {
    const { servers, nodes, providers, ports, power } = at(seen, "destroyed");
    if (Object.keys(nodes).length === 0) throw new Error("Ironic had no node");
    return [
      ...servers.map(({ name, status }) => `${name} is ${status}`),
      ...Object.entries(nodes)
        .filter(
          ([, one]) =>
            one.provision_state !== "available" ||
            one.power_state !== "power off" ||
            one.instance_uuid !== null ||
            one.maintenance,
        )
        .map(([uuid, one]) => `${uuid} is ${JSON.stringify(one)}`),
      ...Object.values(providers)
        .filter(({ allocations }) => Object.keys(allocations).length > 0)
        .map(({ name }) => `${name} has an allocation`),
      ...Object.entries(ports).map(([id, { device }]) => `port ${id} of ${device} is left`),
      ...Object.entries(power)
        .filter(([, on]) => on)
        .map(([uuid]) => `${uuid} is on`),
    ];
  },
  broken: (seen) =>
    changed(seen, "destroyed", (moment) => ({
      ...moment,
      power: Object.fromEntries(Object.keys(moment.power).map((uuid) => [uuid, true])),
    })),
};

/** Broken by leaving `finish` out, or by a lock that is held: `SELECT GET_LOCK('nova2ironic...', 0)`. */
export const traceless: Claim = {
  name: "nothing of the tool is left: no word or flag in a row, no lock, session, flavor or table, and its run is done",
  phases: ["plugin"],
  check: ({ acts }) => {
    const done = acts.filter(({ phase }) => phase === "destroy");
    const missing = ACTS.filter((what) => !done.some((act) => act.what === what));
    if (missing.length > 0) throw new Error(`nobody did: ${missing.join(", ")}`);
    return done.flatMap(({ what, fault }) => (fault === null ? [] : [`${what}: ${fault}`]));
  },
  broken: (seen) => ({
    ...seen,
    acts: seen.acts.map((act) => ({ ...act, fault: "a lock is held" })),
  }),
};
