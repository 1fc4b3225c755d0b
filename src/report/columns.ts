import { codesView } from "./explain.ts";
import { gatherLeft } from "./left.ts";
import { withMachines } from "./machines.ts";
import { matching } from "./match.ts";
import { powerView } from "./power.ts";
import { bootView, gatesView, guardsView, statesView, undoView } from "./previews.ts";
import { settingsView } from "./settings.ts";
import { machinesView, novaStepsView, snapshotView } from "./show.ts";
import type { View } from "./table.ts";
import { faultsView, verdictsView } from "./verify.ts";
import { windowView } from "./window.ts";

const NONE: readonly never[] = [];

async function* nothing(): AsyncGenerator<never> {
  yield* NONE;
}

function of(view: View): View {
  return withMachines(view, () => null);
}

/** A command's lists, of nothing: their columns are what is wanted. */
const LISTS: { readonly [command: string]: () => readonly (View | null)[] } = {
  power: () => [powerView(NONE, new Map())],
  config: () => [settingsView(NONE)],
  show: () => [
    of(machinesView(nothing())),
    of(snapshotView(nothing())),
    powerView(NONE, new Map()),
    novaStepsView(nothing(), nothing()),
  ],
  apply: () => [of(verdictsView(nothing()))],
  verify: () => [of(verdictsView(nothing())), of(statesView(NONE, true)), faultsView(nothing())],
  boot: () => [of(bootView(NONE))],
  handover: () => [of(statesView(NONE, true))],
  finish: () => [of(guardsView(nothing())), of(statesView(NONE))],
  rollback: () => [of(undoView(nothing())), gatherLeft({ format: "json" }).view()],
  retire: () => [gatesView(nothing())],
  window: () => [windowView([])],
  explain: () => [codesView()],
};

/** The columns that a command's lists may have, each once; none of a command without lists. */
export function columnsOf(command: string): readonly string[] {
  const views = LISTS[command]?.() ?? [];
  return [...new Set(views.flatMap((view) => view?.columns ?? []))];
}

/**
 * Looks at `--match` before a command begins: what was done is not to be told in an error about a column.
 *
 * @throws MigrationError N2I-E100 where none of its lists takes the words
 */
export function checkMatch(command: string, words: readonly string[]): void {
  const views = (LISTS[command]?.() ?? []).filter((view) => view !== null);
  const takes = ({ columns }: View): boolean => {
    try {
      return matching(columns, words) !== undefined;
    } catch {
      return false;
    }
  };
  if (!views.some(takes)) matching(columnsOf(command), words);
}
