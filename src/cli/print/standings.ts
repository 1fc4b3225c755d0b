import type { Trouble } from "../../core/release/release.ts";
import type { FormatOptions } from "./options.ts";
import { printRows } from "./table.ts";

const COLUMNS = ["UUID", "BM ID", "Standing", "Why", "What to do"];

/** A row a machine: where it stands on its way to a conductor, and what to do about it. */
export async function printStandings(
  standings: Iterable<Trouble> | AsyncIterable<Trouble>,
  format: FormatOptions,
): Promise<void> {
  const rows = async function* () {
    for await (const { uuid, bm_node_id, standing, why, fix } of standings)
      yield [uuid, bm_node_id, standing, why, fix];
  };
  await printRows(process.stdout, COLUMNS, rows(), format);
}
