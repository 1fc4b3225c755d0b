import type { FormatOptions } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";
import { positions, type View } from "../../lib/table/table.ts";
import { isMatchable } from "../print/out.ts";
import { checksView } from "./checks.ts";
import { codesView } from "./explain.ts";
import { movesView, ownersView } from "./hosts.ts";
import { withMachines } from "./machines.ts";
import { adoptableView, differencesView, managedView, sparesView, stepsView } from "./nodes.ts";
import { powerView } from "./power.ts";
import { bootView, guardsView, loggedView, undoView } from "./previews.ts";
import { journalView, logView, windowView } from "./records.ts";
import { rehearsalView } from "./rehearsal.ts";
import { settingsView } from "./settings.ts";
import { machinesView, novaStepsView, snapshotView } from "./show.ts";
import { SKIPPED_ROWS } from "./skipped-rows.ts";
import { faultsView, verdictsView } from "./verify.ts";

async function* none(): AsyncGenerator<never> {}

const POWER = powerView([], new Map());
const SKIPPED: View = { columns: SKIPPED_ROWS, rows: [] };

/** The lists of each command, without rows. */
const LISTS: { readonly [command: string]: readonly View[] } = {
  extract: [snapshotView([])],
  plan: [machinesView([])],
  check: [checksView([])],
  power: [POWER],
  config: [settingsView([])],
  show: [
    ...[machinesView([]), snapshotView([]), POWER, movesView([]), novaStepsView(none(), none())],
    ...[journalView([]), logView([]), windowView([])],
  ],
  "host list": [ownersView([])],
  "host plan": [movesView([])],
  "host takeover": [movesView([])],
  "host verify": [verdictsView([])],
  "node list": [adoptableView(none(), true)],
  "node list --spares": [sparesView([], true)],
  "node manage": [managedView([])],
  "node unmanage": [SKIPPED],
  "node switchover": [stepsView([]), differencesView([])],
  "node-switchover": [stepsView([]), differencesView([])],
  "node-switchover --spares": [sparesView([], true)],
  adoptable: [adoptableView(none(), true)],
  manage: [managedView([])],
  unmanage: [SKIPPED],
  rehearse: [rehearsalView([])],
  apply: [verdictsView([])],
  verify: [verdictsView([]), loggedView([]), faultsView([])],
  boot: [bootView([])],
  handover: [loggedView([])],
  finish: [guardsView([]), loggedView([])],
  rollback: [undoView([]), SKIPPED],
  window: [windowView([])],
  explain: [codesView()],
};

/** Refuses an unknown column before the command starts. @throws MigrationError N2I-E100 */
export function checkColumns(
  command: string,
  {
    match = [],
    column = [],
    sortColumn = [],
    spares = false,
  }: Pick<FormatOptions, "match" | "column" | "sortColumn"> & { readonly spares?: boolean },
): void {
  const views = LISTS[spares ? `${command} --spares` : command] ?? [];
  const lists = views.map((view) =>
    view === POWER ? view.columns : withMachines(view, () => null).columns,
  );
  if (lists.length === 0) return;
  const all = [...new Set(lists.flat())];
  positions(all, [...column, ...sortColumn]);
  matching(
    all,
    match.filter((condition) => !lists.some((columns) => isMatchable(columns, condition))),
  );
}
