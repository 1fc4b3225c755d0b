import type { Trouble } from "../core/handover/judge.ts";
import type { View } from "./table.ts";

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
