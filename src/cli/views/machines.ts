import type { Json } from "../../lib/json.ts";
import type { View } from "../../lib/table/table.ts";
import type { MachineOf } from "../../model/power.ts";

/** Finds a machine by its bm_nodes.id; null if unknown. */
type FindMachine = (bm_node_id: number) => Promise<MachineOf | null> | MachineOf | null;

const COLUMNS: readonly (readonly [title: string, of: (machine: MachineOf) => string | null])[] = [
  ["Name", ({ name }) => name],
  ["BMC", ({ address }) => address],
  ["Host", ({ host }) => host],
  ["Instance", ({ instance }) => instance],
];

/** Adds columns about machines, shown in the examples of a long list, and with `-c`. */
export function withMachines(view: View, find: FindMachine): View {
  const at = view.columns.indexOf("BM ID");
  if (at < 0) return view;
  const has = (title: string): boolean => view.columns.includes(title);
  const added = COLUMNS.filter(([title]) => !has(title) && !has(`Service ${title}`));
  async function* rows(): AsyncGenerator<readonly Json[]> {
    for await (const row of view.rows) {
      const id = row[at];
      const machine = typeof id === "number" ? await find(id) : null;
      yield [...row, ...added.map(([, of]) => machine && of(machine))];
    }
  }
  return {
    ...view,
    // Not in data formats, because scripts may count columns.
    data: view.data ?? view.columns,
    narrow: view.brief ?? view.data ?? view.columns,
    ...(view.brief !== undefined && { brief: [...view.brief, ...added.map(([title]) => title)] }),
    columns: [...view.columns, ...added.map(([title]) => title)],
    rows: rows(),
  };
}
