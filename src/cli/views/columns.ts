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

function ofMachines(view: View): View {
  return withMachines(view, () => null);
}

const VERDICTS = ofMachines(verdictsView([]));
const STATES = ofMachines(loggedView([]));
const SNAPSHOT = ofMachines(snapshotView([]));
const MACHINES = ofMachines(machinesView([]));
const POWER = powerView([], new Map());
const SKIPPED: View = { columns: SKIPPED_ROWS, rows: [] };

/** The lists of each command, without rows. */
const LISTS: { readonly [command: string]: readonly View[] } = {
  extract: [SNAPSHOT],
  plan: [MACHINES],
  check: [checksView([])],
  power: [POWER],
  config: [settingsView([])],
  show: [
    ...[MACHINES, SNAPSHOT, POWER, movesView([]), novaStepsView(none(), none())],
    ...[journalView([]), logView([]), windowView([])],
  ],
  "host list": [ownersView([])],
  "host plan": [movesView([])],
  "host takeover": [movesView([])],
  "host verify": [VERDICTS],
  "node list": [adoptableView(none(), true)],
  "node list --spares": [sparesView([], true)],
  "node manage": [managedView([])],
  "node unmanage": [SKIPPED],
  "node switchover": [stepsView([]), differencesView([])],
  rehearse: [rehearsalView([])],
  apply: [VERDICTS],
  verify: [VERDICTS, STATES, faultsView([])],
  boot: [ofMachines(bootView([]))],
  handover: [STATES],
  finish: [ofMachines(guardsView([])), STATES],
  rollback: [ofMachines(undoView([])), SKIPPED],
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
  const lists = (LISTS[spares ? `${command} --spares` : command] ?? []).map(
    ({ columns }) => columns,
  );
  if (lists.length === 0) return;
  const all = [...new Set(lists.flat())];
  positions(all, [...column, ...sortColumn]);
  matching(
    all,
    match.filter((condition) => !lists.some((columns) => isMatchable(columns, condition))),
  );
}
