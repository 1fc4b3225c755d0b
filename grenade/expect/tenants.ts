import type { Claim } from "../lib/claim.ts";

const ALL = ["stop", "start", "reboot", "rebuild", "delete", "new server"];

/** Broken by leaving `finish` out: Ironic refuses to rebuild and delete what is protected. */
export const tenants: Claim = {
  name: "tenants stop, start, reboot, rebuild and delete their servers, and a new one comes to the freed machine",
  phases: ["forward"],
  check: ({ acts }) => {
    const done = acts.filter(({ phase }) => phase === "forward");
    const missing = ALL.filter((what) => !done.some((act) => act.what === what));
    if (missing.length > 0) throw new Error(`nobody tried: ${missing.join(", ")}`);
    return done.flatMap(({ what, server, fault }) =>
      fault === null ? [] : [`${what} of ${server}: ${fault}`],
    );
  },
  broken: (seen) => ({
    ...seen,
    acts: seen.acts.map((act) => ({ ...act, fault: "it is in ERROR" })),
  }),
};
