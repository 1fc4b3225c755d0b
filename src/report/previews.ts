import type { GuardPreview, UndoPreview } from "../model/preview.ts";
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
