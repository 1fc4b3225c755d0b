import type { Claim } from "../lib/claim.ts";
import type { Server } from "../lib/seen.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by a server that is SHUTOFF afterwards: `openstack server stop` while Ironic starts. */
export const servers: Claim = {
  name: "every server is the same one afterwards: ACTIVE, running, on its node and the host that follows, launched when it was",
  phases: ["forward"],
  check: (seen) => {
    const [before, after] = [at(seen, "before").servers, at(seen, "after").servers];
    if (before.length === 0) throw new Error("there was no server to begin with");
    const wrong = after.filter(
      (one) => one.status !== "ACTIVE" || one.task !== null || one.power !== 1,
    );
    return [
      ...wrong.map((one) => `${one.name} is ${one.status}, ${one.task}, power ${one.power}`),
      ...after
        .filter(({ host }) => host !== seen.fleet.host)
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

/** What of a server never changes; its host may. */
export function identities(servers: readonly Server[]): { readonly [id: string]: object } {
  return Object.fromEntries(
    servers.map(({ id, name, node, launched }) => [id, { name, node, launched }]),
  );
}
