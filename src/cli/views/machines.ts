import type { Json } from "../../lib/json.ts";
import type { View } from "../../lib/table/table.ts";
import type { MachineOf } from "../../model/power.ts";

/** Finds what a machine is, by its bm_nodes.id; null where it is not known. */
type FindMachine = (bm_node_id: number) => Promise<MachineOf | null> | MachineOf | null;

const COLUMNS: readonly (readonly [title: string, of: (machine: MachineOf) => string | null])[] = [
  ["Name", ({ name }) => name],
  ["BMC", ({ address }) => address],
  ["Host", ({ host }) => host],
  ["Instance", ({ instance }) => instance],
];

/**
 * A list of machines with what each is, in columns behind its own: a uuid alone says nothing to whoever
 * stands before a rack. People read them in the examples of a long list, and by `-c`.
 */
export function withMachines(view: View, find: FindMachine): View {
  const at = view.columns.indexOf("BM ID");
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
    // A script that counts columns goes on as before.
    data: view.data ?? view.columns,
    narrow: view.brief ?? view.data ?? view.columns,
    ...(view.brief !== undefined && {
      brief: [...view.brief, ...added.map(([title]) => title)],
    }),
    columns: [...view.columns, ...added.map(([title]) => title)],
    rows: rows(),
  };
}
