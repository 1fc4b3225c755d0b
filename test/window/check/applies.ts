import type { PlanApplies } from "../../../src/model/check.ts";
import { type CheckCases, fails, PLAN, passes, plan, warns } from "./view.ts";

const applies = (more: Partial<PlanApplies>) => plan({ applies: { ...PLAN.applies, ...more } });

/** What apply would refuse, or leave out, before anybody waits for it in the window. */
export const CASES_APPLIES: CheckCases = {
  "Plan can be applied": [
    passes({}, /3 minutes old.*2 machines load, 0 of them/s),
    fails(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1 }),
      /^1 machines are blocked: bm_nodes\.id=1 \(N2I-D600\)\.\nFix: .*--skip-blocked/,
    ),
    warns(
      applies({ blocked: ["bm_nodes.id=1 (N2I-D600)"], loads: 1, leaves: true }),
      /^1 machines are blocked, and are left out \(--skip-blocked\): bm_nodes\.id=1/,
    ),
    fails(applies({ conflicts: ["bm_nodes.id=2 (N2I-D500)"] }), /^1 .*in conflict/),
    fails(applies({ loads: 0 }), /^The plan loads no machine, and apply refuses it/),
    fails(applies({ fresh: false }), /^The plan was made from another snapshot/),
    warns(
      applies({ readings: { same: true, minutes: 40 } }),
      /40 minutes old, and apply takes none older than 15\..*power, then plan/s,
    ),
    fails(applies({ readings: { same: false, minutes: 1 } }), /not those the plan/),
    fails(applies({ readings: { same: true, minutes: -90 } }), /90 minutes ahead/),
    passes(applies({ readings: null }), /^2 machines load/),
    warns({ plan: null }, /Not held against a plan/),
  ],
};
