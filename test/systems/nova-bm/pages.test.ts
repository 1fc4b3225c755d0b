import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import { createTables } from "../../../src/systems/database/create-tables.ts";
import { readSchema } from "../../../src/systems/nova-bm/open.ts";
import { type MachineBatch, readMachines } from "../../../src/systems/nova-bm/read.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { seal } from "../../support/planned-case.ts";

const MACHINES = 700;
/** Interfaces by the machine they name, which need not be there. */
const INTERFACES = new Map([
  [7, 12_000],
  ...Array.from({ length: 60 }, (_, at) => [at + 290, 4] as const),
  [600, 1],
  [999, 3],
]);

test("a batch ends at a machine, and nothing is lost", async (t) => {
  const place = await withDatabase("sqlite", t);
  const { db } = place;
  await createTables(db, loadTables("nova_bm"), { engine: "sqlite" });
  const numbers = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ?)";
  await db.raw(`INSERT INTO bm_nodes (id, uuid, deleted) ${numbers} SELECT n, 'u' || n, 0 FROM s`, [
    MACHINES,
  ]);
  for (const [machine, interfaces] of INTERFACES)
    await db.raw(
      `INSERT INTO bm_interfaces (bm_node_id, address, deleted) ${numbers} SELECT ${machine}, printf('%012x', ${machine} * 100000 + n), 0 FROM s`,
      [interfaces],
    );
  const database = await openedAt(place.url, t, { readOnly: true });
  const batches: MachineBatch[] = [];
  for await (const batch of readMachines(database, await readSchema(database), seal))
    batches.push(batch);
  const machines = batches.flatMap((batch) => batch.machines);
  assert.deepEqual(
    machines.map(({ node, interfaces }) => [node.id, interfaces.length]),
    Array.from({ length: MACHINES }, (_, at) => [at + 1, INTERFACES.get(at + 1) ?? 0]),
  );
  const orphans = batches.flatMap((batch) => batch.orphans);
  const owners = orphans.map(({ bm_node_id }) => bm_node_id);
  assert.deepEqual(owners, [999, 999, 999]);
  const all = [...machines.flatMap(({ interfaces }) => interfaces), ...orphans];
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
});
