import type { Claim } from "../lib/claim.ts";
import type { Fleet, Server } from "../lib/seen.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by a server that is SHUTOFF afterwards: `openstack server stop` while Ironic starts. */
export const servers: Claim = {
  name: "every server is the same one afterwards, also one in ERROR and one whose machine is in maintenance: its status, node, launch, and the host that follows; tenants run",
  phases: ["forward", "plugin", "tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before").servers, at(seen, "after").servers];
    if (before.length === 0) throw new Error("there was no server to begin with");
    return [
      ...strayed(seen.fleet, after),
      ...after
        .filter(({ node, host }) => node !== NOWHERE && host !== seen.fleet.host)
        .map(({ name, host }) => `${name} is on ${host}`),
      ...differences("server", identities(before), identities(after)),
    ];
  },
  broken: (seen) =>
    changed(seen, "after", (moment) => ({
      ...moment,
      servers: moment.servers.map((one, index) =>
        index > 0 ? one : { ...one, status: "SHUTOFF" },
      ),
    })),
};

/** Of a server that no machine could take. */
const NOWHERE = "null";

/** A line for each server that is busy, or a tenant's and not running. */
export function strayed({ tenants }: Fleet, all: readonly Server[]): readonly string[] {
  return all
    .filter(
      ({ task, status, node, power }) =>
        task !== null || (tenants.includes(node) && (status !== "ACTIVE" || power !== 1)),
    )
    .map((one) => `${one.name} is ${one.status}, ${one.task}, power ${one.power}`);
}

/** What of a server never changes; its host may. */
export function identities(servers: readonly Server[]): { readonly [id: string]: object } {
  return Object.fromEntries(
    servers.map(({ id, name, status, node, launched }) => [id, { name, status, node, launched }]),
  );
}
