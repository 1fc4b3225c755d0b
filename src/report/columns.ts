import { CODE_COLUMNS } from "./explain.ts";
import { gatherLeft } from "./left.ts";
import { powerView } from "./power.ts";
import { bootView, guardsView, statesView, undoView } from "./previews.ts";
import { settingsView } from "./settings.ts";
import { machinesView, novaStepsView, snapshotView } from "./show.ts";
import type { View } from "./table.ts";
import { faultsView, verdictsView } from "./verify.ts";

const NONE: readonly never[] = [];

async function* nothing(): AsyncGenerator<never> {
  yield* NONE;
}

/** A command's lists, of nothing: their columns are what is wanted. */
const LISTS: { readonly [command: string]: () => readonly (View | null)[] } = {
  power: () => [true, false].map((short) => powerView(NONE, new Map(), short)),
  config: () => [settingsView(NONE)],
  show: () => [
    machinesView(nothing()),
    snapshotView(nothing()),
    novaStepsView(nothing(), nothing()),
  ],
  verify: () => [verdictsView(nothing()), statesView(NONE, true), faultsView(nothing())],
  boot: () => [bootView(NONE)],
  handover: () => [statesView(NONE, true)],
  finish: () => [guardsView(nothing()), statesView(NONE)],
  rollback: () => [undoView(nothing()), gatherLeft({ format: "json" }).view()],
  explain: () => [{ columns: CODE_COLUMNS, rows: NONE }],
};

/** The columns that a command's lists may have, each once; none of a command without lists. */
export function columnsOf(command: string): readonly string[] {
  const views = LISTS[command]?.() ?? [];
  return [...new Set(views.flatMap((view) => view?.columns ?? []))];
}
