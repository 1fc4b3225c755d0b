import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by a press of a machine's button: Nova's next power sync would act on what it sees. */
export const rest: Claim = {
  name: "three power syncs later nobody switched a machine, and servers are as they were",
  phases: ["forward"],
  check: (seen) => {
    const [before, after] = [at(seen, "operated"), at(seen, "rested")];
    const states = (servers: typeof after.servers) =>
      JSON.stringify(servers.map(({ id, status, power }) => [id, status, power]));
    return [
      ...after.commands.slice(before.commands.length),
      ...(states(before.servers) === states(after.servers)
        ? []
        : [`servers were ${states(before.servers)} and are ${states(after.servers)}`]),
      ...after.errors,
    ];
  },
  broken: (seen) =>
    changed(seen, "rested", (moment) => ({
      ...moment,
      commands: [...moment.commands, "a-machine power 0"],
    })),
};
