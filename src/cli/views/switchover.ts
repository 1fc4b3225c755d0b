import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import type { HardwareDifference } from "../../model/switchover.ts";
import type { SwitchStepRow } from "../../switchover/rules/switching.ts";

const STEPS: Columns<SwitchStepRow> = {
  Step: ({ step }) => step,
  Call: ({ call }) => call,
  Before: ({ before }) => before,
  After: ({ after }) => after,
};

/** What a switchover would do, in its order. */
export function stepsView(rows: readonly SwitchStepRow[]): View {
  return viewOf(STEPS, rows);
}

const DIFFERENCES: Columns<HardwareDifference> = {
  Field: ({ field }) => field,
  Source: ({ source }) => source,
  Destination: ({ destination }) => destination,
};

/** In what two nodes differ. */
export function differencesView(rows: readonly HardwareDifference[]): View {
  return viewOf(DIFFERENCES, rows);
}
