import { ownedLines } from "../../engine/back.ts";
import { counted } from "../../lib/text.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import {
  available,
  awayOf,
  cutBack,
  type LoadedRows,
  type RunFiles,
  type TakenBack,
  takenBack,
} from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { NextStep } from "../../run/next.ts";
import { openPlan } from "../../run/run.ts";
import { ironicJournalled } from "../apply/parts.ts";
import { isInIronic } from "../plan/loaded-plans.ts";

/** Rows of this run that are in Ironic, according to the journal and its plans. */
export async function loadedRowsOf(run: RunFolder, entries: Entries): Promise<LoadedRows> {
  const machines = new Set<string>();
  const skipped = new Set<string>();
  const scope = takenBack(entries);
  const cut = cutBack(entries);
  let rows = 0;
  for (const sha256 of plansOf(entries, IRONIC)) {
    if (!isInIronic(entries, sha256)) continue;
    const { header, lines } = await openPlan(await findPlan(run, sha256));
    const leg = ironicJournalled(header.target, { sha256, lines });
    for await (const batch of ownedLines(leg, entries, { selects: () => true }))
      for (const { line, changes } of batch) {
        rows += changes.length;
        const { uuid, bm_node_id } = line;
        machines.add(uuid ?? String(bm_node_id));
        if (uuid !== null && scope !== null && scope !== "all" && scope.has(uuid) && !cut.has(uuid))
          skipped.add(uuid);
      }
  }
  return { rows, machines: machines.size, skipped };
}

/** Text about rows that are in Ironic. Null if there are none. */
export function loadedRowsText(loadedRows: RunFiles["rows"]): string | null {
  const { rows = 0, machines = 0 } = available(loadedRows) ?? {};
  if (rows === 0) return null;
  const of = counted(machines, "machine");
  return `${counted(rows, `row of ${of} is`, `rows of ${of} are`)} still in Ironic`;
}

/**
 * The next step of an unfinished rollback: it was stopped, or rows had to stay. If only Ironic was
 * rolled back, instances are on hosts without their machines.
 */
export function goOnBack(files: RunFiles): NextStep | null {
  const { nova, rows: loadedRows } = files;
  const away = awayOf(files);
  const { rows: toRestore = 0, machines = "all" } = available(available(nova)?.remaining) ?? {};
  const rows = away === "all" ? loadedRowsText(loadedRows) : null;
  if (rows === null && toRestore === 0) return null;
  const reasons = [
    ...(rows === null ? [] : [rows]),
    ...(toRestore === 0 ? [] : [`${counted(toRestore, "row")} of nova to restore`]),
  ];
  return {
    command: "rollback",
    options: scopeOptions(away === "all" ? away : machines),
    note: reasons.join(", and "),
  };
}

/** Text about single machines that were rolled back. Null if all were, or none. */
export function rolledBackText(files: Pick<RunFiles, "journal" | "rows">): string | null {
  const { rows } = files;
  const away = awayOf(files);
  if (away === null || away === "all" || loadedRowsText(rows) === null) return null;
  const of = `${away.size} of ${counted((available(rows)?.machines ?? 0) + away.size, "machine")}`;
  const [were, them] = away.size === 1 ? ["was", "it"] : ["were", "them"];
  return `${of} ${were} rolled back: plan and apply load ${them} again, rollback --all rolls back the others, finish ends the run without ${them}`;
}

/** A command names at most this many machines. */
const MAX_MACHINES = 8;

/** The options of `rollback` for these machines, for people to copy. */
export function scopeOptions(machines: TakenBack): {
  readonly all?: true;
  readonly node?: readonly string[];
} {
  if (machines === "all") return { all: true };
  return { node: machines.size > MAX_MACHINES ? ["UUID"] : [...machines] };
}
