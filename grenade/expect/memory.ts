import type { Claim } from "../lib/claim.ts";

/** MiB. */
const MOST = 256;

/** Broken by reading a fleet into memory whole. */
export const memory: Claim = {
  name: `no command of the product holds more than ${MOST} MiB`,
  phases: ["forward", "back", "faults", "plugin", "tempest"],
  check: ({ ran }) => {
    if (ran.length === 0) throw new Error("none ran");
    return ran.filter(({ peak }) => peak > MOST).map(({ title, peak }) => `${title}: ${peak} MiB`);
  },
  broken: (seen) => ({ ...seen, ran: seen.ran.map((one) => ({ ...one, peak: 10 * MOST })) }),
};

/** MiB: two cores of a pipeline seldom have more than four GiB. */
const CLOUD = 3 * 1024;

/** Broken by another worker for each service. */
export const cloudMemory: Claim = {
  name: `the whole cloud holds less than ${CLOUD} MiB`,
  phases: ["forward", "back", "faults"],
  check: ({ held }) => {
    if (held === 0) throw new Error("nobody looked");
    return held < CLOUD ? [] : [`${held} MiB`];
  },
  broken: (seen) => ({ ...seen, held: 2 * CLOUD }),
};
