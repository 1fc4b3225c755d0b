import assert from "node:assert/strict";
import { test } from "node:test";
import { type RawRow, select } from "../../src/systems/database/rows.ts";
import { openWriting } from "../../src/systems/database/write.ts";
import { type Mutation, mutationsOf } from "../support/mutations.ts";
import { targetOf, type Workplace } from "../support/planned-case.ts";
import { disturb, loaded, NODES, PORTS, rich, told } from "../support/rich.ts";

/** What a conductor does by itself to a machine nobody touches. @source facts/ironic.md 1.6, 2.2, 2.3 */
const OWN = new Set([
  ...["power_state", "target_power_state", "conductor_affinity", "reservation", "updated_at"],
  ...["last_error", "boot_mode", "secure_boot", "driver_internal_info.stranger"],
]);

/** Columns whose change moves the row away: places.test.ts has those. */
const MOVING = new Set(["id", "uuid", "node_id"]);

/** Rows that what is mutated may point at. */
async function parents({ ironic }: Workplace): Promise<void> {
  const rows = {
    chassis: {},
    conductors: { hostname: "conductor" },
    allocations: { uuid: "a", state: "active" },
    portgroups: {},
  };
  for (const [table, row] of Object.entries(rows))
    if (await ironic.knex.schema.hasTable(table)) {
      const trx = await openWriting(ironic);
      await trx(table).insert({ id: 7, ...row });
      await trx.commit();
    }
}

/** What verify should say of a mutation. */
function expected({ field, column, kind, to }: Mutation, was: RawRow): string {
  if (kind === "broken") return "suspended: ";
  const filledIn = column.endsWith("_interface") && was[column] === null && to !== null;
  // The window's own protection, taken away at its end.
  const cleared =
    (column === "automated_clean" && to === null) || (column === "protected" && to === 0);
  return `${OWN.has(field) || filledIn || cleared ? "validated" : "mismatched"}: ${field}`;
}

/** Mutates each field of a row in turn, and puts it back. */
async function mutateAll(at: Workplace, resource: "node" | "port", uuid: string): Promise<number> {
  const { release } = await targetOf(at.ironic);
  const { knex } = at.ironic;
  const sql = `SELECT * FROM ${resource}s WHERE uuid = ?`;
  const [was = {}] = await select(at.ironic, knex, sql, [uuid]);
  const columns = release[resource].filter(({ name }) => !MOVING.has(name));
  const mutations = mutationsOf(was, columns);
  for (const mutation of mutations) {
    const { column, to } = mutation;
    const update = `UPDATE ${resource}s SET ${column} = ? WHERE uuid = ?`;
    await disturb(at.ironic, update, [to, uuid]);
    assert.deepEqual(
      (await told(at)).map(
        (row) => `${row.uuid} ${row.state}: ${row.differs.map(({ field }) => field).join()}`,
      ),
      [`${uuid} ${expected(mutation, was)}`],
      `${resource}s.${column} = ${String(to)}`,
    );
    await disturb(at.ironic, update, [was[column], uuid]);
  }
  assert.deepEqual(await told(at), []);
  return mutations.length;
}

test("verify finds every single change of a column or key", async () => {
  await loaded(rich("2023.1"), async (at) => {
    await parents(at);
    assert.ok((await mutateAll(at, "node", NODES[0])) > 60);
    assert.ok((await mutateAll(at, "port", PORTS[0])) > 10);
  });
});
