import type { GuardPreview } from "../model/finish.ts";
import type { View } from "./table.ts";

/** What finish would do, a row a machine. */
export function guardsView(previews: AsyncIterable<GuardPreview>): View {
  const rows = async function* () {
    for await (const { action, uuid, bm_node_id, fields, why } of previews)
      yield [action, uuid, bm_node_id, fields, why];
  };
  return { columns: ["Action", "UUID", "BM ID", "Fields", "Why"], rows: rows() };
}
