import type { Trouble } from "../core/handover/judge.ts";
import type { BootRow, GuardPreview, UndoPreview } from "../model/preview.ts";
import type { View } from "./table.ts";

/** What finish would do, a row a machine. */
export function guardsView(previews: AsyncIterable<GuardPreview>): View {
  const rows = async function* () {
    for await (const { action, uuid, bm_node_id, fields, why } of previews)
      yield [action, uuid, bm_node_id, fields, why];
  };
  return { columns: ["Action", "UUID", "BM ID", "Fields", "Why"], rows: rows() };
}

/** What a rollback would do. */
export function undoView(previews: AsyncIterable<UndoPreview>): View {
  const rows = async function* () {
    for await (const { action, resource, uuid, bm_node_id, why } of previews)
      yield [action, resource, uuid, bm_node_id, why];
  };
  return { columns: ["Action", "Resource", "UUID", "BM ID", "Why"], rows: rows() };
}

/** Machines with something to do or to say. */
export function bootView(rows: readonly BootRow[]): View {
  const listed = rows.filter(({ state }) => state !== "ready");
  return {
    columns: ["UUID", "State", "Changes", "Why"],
    rows: listed.map(({ uuid, state, changes, why }) => [uuid, state, changes.join(" "), why]),
  };
}

/** @param none what it means that no machine is there */
export function bootSummary(title: string, rows: readonly BootRow[], none: string): string {
  const words = (["ready", "to stage", "staged", "undone", "stumbles", "left"] as const).flatMap(
    (wanted) => {
      const count = rows.filter(({ state }) => state === wanted).length;
      return count > 0 ? [`${count} ${wanted}`] : [];
    },
  );
  return `${title}: ${words.join(", ") || none}.`;
}

const COLUMNS = ["UUID", "BM ID", "Standing", "Why", "What to do"];

/**
 * A row a machine: where it stands on its way to a conductor, and what to do about it.
 *
 * @param logs adds a column of what the conductors' logs say, a line each
 */
export function standingsView(
  standings: Iterable<Trouble> | AsyncIterable<Trouble>,
  logs = false,
): View {
  const rows = async function* () {
    for await (const { uuid, bm_node_id, standing, why, fix, log = [] } of standings)
      yield [uuid, bm_node_id, standing, why, fix, ...(logs ? [log.join("\n")] : [])];
  };
  return { columns: logs ? [...COLUMNS, "Conductor Log"] : COLUMNS, rows: rows() };
}
