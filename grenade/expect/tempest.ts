import type { Claim } from "../lib/claim.ts";
import { at, changed, differences } from "./moments.ts";
import { identities, strayed } from "./servers.ts";

/** Ironic's plugin has 233 tests of the API, Nova's servers some 60 that machines without networks can pass. */
const FEWEST = 270;

/** Broken by a node that a test takes and that is not as a native one is: a NULL where Ironic wants a value. */
export const tempest: Claim = {
  name: "no test of Tempest fails on the migrated Ironic that passes on a fresh one",
  phases: ["tempest"],
  check: ({ acts }) => {
    const of = (side: string) => acts.filter(({ phase }) => phase === `tempest ${side}`);
    const [fresh, migrated] = [of("fresh"), of("migrated")];
    const passed = fresh.filter(({ fault }) => fault === null).map(({ what }) => what);
    if (passed.length < FEWEST) throw new Error(`on a fresh Ironic ${passed.length} tests passed`);
    const there = new Set(migrated.map(({ what }) => what));
    const failing = new Set(fresh.flatMap(({ what, fault }) => (fault === null ? [] : [what])));
    return [
      ...passed.filter((test) => !there.has(test)).map((test) => `${test} did not run`),
      ...migrated
        .filter(({ what, fault }) => fault !== null && !failing.has(what))
        .map(({ what, fault }) => `${what}: ${fault}`),
    ];
  },
  broken: (seen) => ({
    ...seen,
    acts: seen.acts.map((act) =>
      act.phase === "tempest migrated" ? { ...act, fault: "failure" } : act,
    ),
  }),
};

/** Broken by a flavor that a test deploys to and that reaches a tenant's machine. */
export const spared: Claim = {
  name: "Tempest leaves the tenants who were carried over alone",
  phases: ["tempest"],
  check: (seen) => {
    const [before, after] = [at(seen, "before"), at(seen, "tested")];
    const tenants = before.servers.map(({ node }) => node);
    const told = after.commands
      .slice(before.commands.length)
      .filter((line) => tenants.some((uuid) => line.startsWith(uuid)));
    const kept = after.servers.filter(({ id }) => before.servers.some((one) => one.id === id));
    return [
      ...told,
      ...strayed(seen.fleet, kept),
      ...differences("server", identities(before.servers), identities(kept)),
    ];
  },
  broken: (seen) => changed(seen, "tested", (moment) => ({ ...moment, servers: [] })),
};
