import { rowsOf, type View } from "../../lib/table/table.ts";
import type { BootRow, GuardPreview, UndoPreview } from "../../model/change.ts";
import type { Trouble } from "../../model/handover.ts";

export function guardsView(previews: AsyncIterable<GuardPreview>): View {
  const columns = ["Action", "UUID", "BM ID", "Fields", "Why"];
  const causes = ["Action", "Fields", "Why"];
  const row = (it: GuardPreview) => [it.action, it.uuid, it.bm_node_id, it.fields, it.reason];
  return { ...rowsOf(columns, previews, row), causes };
}

export function undoView(previews: AsyncIterable<UndoPreview>): View {
  const columns = ["Action", "Resource", "UUID", "BM ID", "Why"];
  const row = (it: UndoPreview) => [it.action, it.resource, it.uuid, it.bm_node_id, it.reason];
  return { ...rowsOf(columns, previews, row), causes: ["Action", "Resource", "Why"] };
}

export function bootView(rows: readonly BootRow[]): View {
  const listed = rows.filter(({ state }) => state !== "ready");
  const columns = ["UUID", "State", "Changes", "Why", "BM ID"];
  const row = (it: BootRow) => [it.uuid, it.state, it.changes.join(" "), it.reason, it.bm_node_id];
  return { ...rowsOf(columns, listed, row), data: columns.slice(0, 4), causes: ["State", "Why"] };
}

/** @param none text for an empty list */
export function bootSummary(title: string, rows: readonly BootRow[], none: string): string {
  const counts = (["ready", "to stage", "staged", "undone", "stumbles", "left"] as const).flatMap(
    (label) => {
      const count = rows.filter(({ state }) => state === label).length;
      return count > 0 ? [`${count} ${label}`] : [];
    },
  );
  return `${title}: ${counts.join(", ") || none}.`;
}

const COLUMNS = ["UUID", "BM ID", "State", "Why", "What to do"];

/** @param logs adds a column with lines of the conductor logs */
export function statesView(states: Iterable<Trouble> | AsyncIterable<Trouble>, logs = false): View {
  const columns = logs ? [...COLUMNS, "Conductor Log"] : COLUMNS;
  const view = rowsOf(columns, states, ({ uuid, bm_node_id, state, reason, fix, log = [] }) => {
    const logLines = logs ? [log.join("\n")] : [];
    return [uuid, bm_node_id, state, reason, fix, ...logLines];
  });
  return { ...view, causes: ["State", "Why", "What to do"] };
}
