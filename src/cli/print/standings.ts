import type { Trouble } from "../../core/handover/planned.ts";
import { io } from "../io.ts";
import type { FormatOptions } from "./options.ts";
import { printRows } from "./table.ts";

const COLUMNS = ["UUID", "BM ID", "Standing", "Why", "What to do"];

/**
 * A row a machine: where it stands on its way to a conductor, and what to do about it.
 *
 * @param logs adds a column of what the conductors' logs say, a line each
 */
export async function printStandings(
  standings: Iterable<Trouble> | AsyncIterable<Trouble>,
  format: FormatOptions,
  logs = false,
): Promise<void> {
  const rows = async function* () {
    for await (const { uuid, bm_node_id, standing, why, fix, log = [] } of standings)
      yield [uuid, bm_node_id, standing, why, fix, ...(logs ? [log.join("\n")] : [])];
  };
  const columns = logs ? [...COLUMNS, "Conductor Log"] : COLUMNS;
  await printRows(io().stdout, columns, rows(), format);
}
