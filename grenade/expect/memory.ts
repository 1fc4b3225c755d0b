import type { Claim } from "../lib/claim.ts";

/** MiB. */
const MOST = 256;

/** Broken by reading a fleet into memory whole. */
export const memory: Claim = {
  name: `no command of the product holds more than ${MOST} MiB`,
  phases: ["forward", "back"],
  check: ({ ran }) => {
    if (ran.length === 0) throw new Error("none ran");
    return ran.filter(({ peak }) => peak > MOST).map(({ title, peak }) => `${title}: ${peak} MiB`);
  },
  broken: (seen) => ({ ...seen, ran: seen.ran.map((one) => ({ ...one, peak: 10 * MOST })) }),
};
