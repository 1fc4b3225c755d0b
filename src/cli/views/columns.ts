import type { FormatOptions } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";
import { positions, type View } from "../../lib/table/table.ts";
import { checksView } from "./checks.ts";
import { codesView } from "./explain.ts";
import { hasMatched } from "./fitting.ts";
import { movesView, ownersView } from "./hosts.ts";
import { gatherLeft } from "./left.ts";
import { withMachines } from "./machines.ts";
import { powerView } from "./power.ts";
import { bootView, guardsView, statesView, undoView } from "./previews.ts";
import { journalView, logView } from "./records.ts";
import { rehearsalView } from "./rehearsal.ts";
import { settingsView } from "./settings.ts";
import { machinesView, novaStepsView, snapshotView } from "./show.ts";
import { faultsView, verdictsView } from "./verify.ts";
import { windowView } from "./window.ts";

const NONE: readonly never[] = [];

async function* nothing(): AsyncGenerator<never> {
  yield* NONE;
}

function of(view: View): View {
  return withMachines(view, () => null);
}

/** What a command line asks of a command. */
interface Asked extends Pick<FormatOptions, "match" | "column" | "sortColumn"> {
  readonly [option: string]: unknown;
}

/** A list, of nothing: its columns are what is wanted. */
interface List {
  readonly of: () => View | null;
  /** Whether it is what this command line prints; without it always. */
  readonly when?: (asked: Asked) => boolean;
}

const GIVEN = {
  plan: ({ plan }: Asked) => plan === true,
  acts: ({ plan }: Asked) => plan !== true,
  takeover: ({ takeover }: Asked) => takeover === true,
  compares: ({ takeover }: Asked) => takeover !== true,
  logs: ({ conductorLog }: Asked) => conductorLog !== undefined,
  noLogs: ({ conductorLog }: Asked) => conductorLog === undefined,
  faults: ({ conductorLog, computeLog }: Asked) =>
    conductorLog !== undefined || computeLog !== undefined,
  // Its file says which list it is, and that is refused before a row is read.
  never: () => false,
} as const satisfies { readonly [word: string]: List["when"] };

const LISTS: { readonly [command: string]: readonly List[] } = {
  extract: [{ of: () => of(snapshotView(nothing())) }],
  plan: [{ of: () => of(machinesView(nothing())) }],
  check: [{ of: () => checksView(NONE) }],
  power: [{ of: () => powerView(NONE, new Map()) }],
  config: [{ of: () => settingsView(NONE) }],
  show: [
    { of: () => of(machinesView(nothing())), when: GIVEN.never },
    { of: () => of(snapshotView(nothing())), when: GIVEN.never },
    { of: () => movesView(NONE), when: GIVEN.never },
    { of: () => powerView(NONE, new Map()), when: GIVEN.never },
    { of: () => novaStepsView(nothing(), nothing()), when: GIVEN.never },
    { of: () => journalView(NONE), when: GIVEN.never },
    { of: () => logView(NONE), when: GIVEN.never },
    { of: () => windowView(NONE), when: GIVEN.never },
  ],
  host: [
    { of: () => ownersView(NONE), when: ({ action }) => action === "list" },
    { of: () => movesView(NONE), when: ({ action }) => action === "plan" || action === "takeover" },
    { of: () => of(verdictsView(nothing())), when: ({ action }) => action === "verify" },
  ],
  rehearse: [{ of: () => rehearsalView({ stages: NONE }) }],
  apply: [{ of: () => of(verdictsView(nothing())) }],
  verify: [
    { of: () => of(verdictsView(nothing())), when: GIVEN.compares },
    { of: () => of(statesView(NONE)), when: GIVEN.takeover },
    { of: () => faultsView(nothing()), when: GIVEN.faults },
  ],
  boot: [{ of: () => of(bootView(NONE)) }],
  handover: [
    { of: () => of(statesView(NONE)), when: GIVEN.noLogs },
    { of: () => of(statesView(NONE, true)), when: GIVEN.logs },
  ],
  finish: [
    { of: () => of(guardsView(nothing())), when: GIVEN.plan },
    { of: () => of(statesView(NONE)), when: GIVEN.acts },
  ],
  rollback: [
    { of: () => of(undoView(nothing())), when: GIVEN.plan },
    { of: () => gatherLeft({ format: "json" }).view(), when: GIVEN.acts },
  ],
  window: [{ of: () => windowView([]) }],
  explain: [{ of: () => codesView() }],
};

/**
 * Looks at the columns that a command line names before the command begins: what was done is not to be told
 * in an error about a column.
 *
 * @throws MigrationError N2I-E100 for a column that none of the lists has which this command line prints
 */
export function checkColumns(command: string, asked: Asked): void {
  const lists = (LISTS[command] ?? []).filter(({ when }) => when === undefined || when(asked));
  const views = lists.flatMap((list) => list.of() ?? []);
  if (views.length === 0) return;
  const { match = [], column = [], sortColumn = [] } = asked;
  const all = [...new Set(views.flatMap(({ columns }) => columns))];
  positions(all, [...column, ...sortColumn]);
  const taken = (word: string): boolean => views.some(({ columns }) => hasMatched(columns, word));
  matching(
    all,
    match.filter((word) => !taken(word)),
  );
}
