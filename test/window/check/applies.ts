import type { PlanApplies } from "../../../src/model/check.ts";
import { type CheckCases, PLAN, plan } from "./view.ts";

const applies = (more: Partial<PlanApplies>) => plan({ applies: { ...PLAN.applies, ...more } });

/** What apply would refuse, or leave out, before anybody waits for it in the window. */
export const CASES_APPLIES: CheckCases = {
  "Plan can be applied": [
    [{}, "Success", /3 minutes old.*2 machines load, 0 of them/s],
    [
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1 }),
      "Failure",
      /^1 machines are blocked: bm_nodes\.id=1 \(N2I-D600\)\.\nFix: .*--skip-blocked/,
    ],
    [
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1, leaves: true }),
      "Warning",
      /^1 machines are blocked, and are left out \(--skip-blocked\): bm_nodes\.id=1/,
    ],
    [applies({ conflicts: ["bm_nodes.id=2 (N2I-D500)"] }), "Failure", /^1 .*in conflict/],
    [applies({ loads: 0 }), "Failure", /^The plan loads no machine, and apply refuses it/],
    [applies({ fresh: false }), "Failure", /^The plan was made from another snapshot/],
    [
      applies({ readings: { same: true, minutes: 40 } }),
      "Warning",
      /40 minutes old, and apply takes none older than 15\..*power, then plan/s,
    ],
    [applies({ readings: { same: false, minutes: 1 } }), "Failure", /not those the plan/],
    [applies({ readings: { same: true, minutes: -90 } }), "Failure", /90 minutes ahead/],
    [applies({ readings: null }), "Success", /^2 machines load/],
    [{ plan: null }, "Warning", /Not held against a plan/],
  ],
};
