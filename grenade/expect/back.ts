import { turnsOf } from "../lib/back.ts";
import type { Claim } from "../lib/claim.ts";
import type { By, Moment, ObservedState } from "../lib/seen.ts";
import { held } from "./allocations.ts";
import { at, changed, differences } from "./moments.ts";
import { own } from "./ports.ts";
import { identities, strayed } from "./servers.ts";

/** What nobody but the product and conductors should have touched: from one moment to another. */
function quiet(by: By): readonly (readonly [from: string, to: string])[] {
  const turns = turnsOf(by);
  const over = ["before", ...turns.filter((turn) => turn !== "acted")];
  return [
    ...over.slice(1).map((to, at) => [over[at] ?? "", to] as const),
    ...turns.map((turn) => [turn, `${turn}-back`] as const),
  ];
}

function backs(seen: ObservedState): readonly (readonly [string, Moment, Moment])[] {
  const before = at(seen, "before");
  return turnsOf(seen.by).map((turn) => [turn, before, at(seen, `${turn}-back`)] as const);
}

/** Broken by a row of Ironic that somebody changed since: rollback leaves it, and ends with 2. */
export const emptied: Claim = {
  name: "a rollback leaves no row in Ironic, and flavors as they were: staged, handed over, served by nova-compute, and used",
  phases: ["back"],
  check: (seen) =>
    backs(seen).flatMap(([turn, before, after]) => [
      ...(after.loaded === 0 ? [] : [`${turn}: ${after.loaded} nodes are in Ironic`]),
      ...differences(`${turn}: extra spec`, before.flavor, after.flavor),
    ]),
  broken: (seen) => changed(seen, "served-back", (moment) => ({ ...moment, loaded: 1 })),
};

/** Broken by `openstack server stop` before the legacy nova-compute is there again. */
export const restored: Claim = {
  name: "after each rollback servers are the same ones, ACTIVE on the legacy driver, with their rows, allocations and ports",
  phases: ["back"],
  check: (seen) =>
    backs(seen).flatMap(([turn, before, after]) => [
      ...strayed(seen.fleet, after.servers).map((line) => `${turn}: ${line}`),
      ...differences(`${turn}: server`, identities(before.servers), identities(after.servers)),
      ...differences(`${turn}: hypervisor`, before.hypervisors, after.hypervisors),
      ...differences(`${turn}: compute node`, before.computeNodes, after.computeNodes),
      ...differences(`${turn}: provider`, held(before), held(after)),
      ...differences(`${turn}: port`, before.ports, own(after, seen.fleet)),
    ]),
  broken: (seen) => changed(seen, "handed-back", (moment) => ({ ...moment, providers: {} })),
};

/** Broken by a BMC that is told anything on the way: `ipmitool power off` after apply. */
export const untouched: Claim = {
  name: "no BMC is told anything on the way there and back, no port is bound or unbound, and no service logs an ERROR",
  phases: ["back"],
  check: (seen) =>
    quiet(seen.by).flatMap(([from, to]) => {
      const [before, after] = [at(seen, from), at(seen, to)];
      return [
        ...after.commands.slice(before.commands.length),
        ...after.bindings.slice(before.bindings.length),
        ...differences(`${to}: power of`, before.power, after.power),
        ...after.errors,
      ];
    }),
  broken: (seen) =>
    changed(seen, "served-back", (moment) => ({ ...moment, errors: ["nova-compute: ERROR"] })),
};

/** Broken by an old nova-compute that is not started again. */
export const serving: Claim = {
  name: "tenants stop and start their servers after each rollback, and before one through Ironic",
  phases: ["back"],
  check: ({ acts, by }) => {
    const missing = ["acted", ...turnsOf(by).map((turn) => `${turn}-back`)].filter(
      (phase) => acts.filter((act) => act.phase === phase).length < 2,
    );
    if (missing.length > 0) throw new Error(`nobody tried: ${missing.join(", ")}`);
    return acts.flatMap(({ phase, what, fault }) =>
      fault === null ? [] : [`${phase}: ${what}: ${fault}`],
    );
  },
  broken: (seen) => ({ ...seen, acts: seen.acts.map((act) => ({ ...act, fault: "it hangs" })) }),
};
