import type { Claim } from "../lib/claim.ts";
import { at, changed } from "./moments.ts";

/** Broken by a nova-compute that starts before Ironic answers, or by a node without resource class. */
export const errors: Claim = {
  name: "no service logs an ERROR, from the first stage to the last",
  phases: ["forward", "plugin"],
  check: (seen) => ["after", "finished"].flatMap((name) => at(seen, name).errors),
  broken: (seen) =>
    changed(seen, "after", (moment) => ({ ...moment, errors: ["nova-compute: ERROR"] })),
};
