import type { Claim } from "../lib/claim.ts";
import { at, differences } from "./moments.ts";

/** Broken by a proxy that asks with a login of its own: the member, and nobody, see what the operator sees. */
export const proxy: Claim = {
  name: "the proxy answers os-baremetal-nodes: an administrator sees every machine in its state, a member gets 403, nobody 401",
  phases: ["forward", "tempest"],
  check: (seen) => {
    const { nodes } = at(seen, "after");
    const states = Object.entries(nodes).map(([uuid, one]) => [uuid, one.provision_state]);
    const wanted = {
      "an administrator": { status: 200, nodes: sorted(Object.fromEntries(states)) },
      "a member": { status: 403, nodes: {} },
      nobody: { status: 401, nodes: {} },
    };
    if (states.length === 0) throw new Error("Ironic had no node");
    const found = seen.listed.map(({ who, status, nodes: listed }) => [
      who,
      { status, nodes: sorted(listed) },
    ]);
    if (found.length === 0) throw new Error("nobody asked it");
    return differences("to", wanted, Object.fromEntries(found));
  },
  broken: (seen) => ({ ...seen, listed: seen.listed.map((one) => ({ ...one, status: 200 })) }),
};

function sorted(nodes: { readonly [uuid: string]: string }): object {
  return Object.fromEntries(Object.entries(nodes).toSorted());
}
