import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import type { ScannedKey } from "../../../src/model/ironic/target.ts";
import { scannedKeys } from "../../../src/systems/ironic-db/remove.ts";
import { loadIronic } from "../../cases/load-case.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { fleet } from "../../support/fleet.ts";
import { openedAt } from "../../support/opened.ts";

/** Ironic's database with two machines, by its owner or by a user who may only write rows. */
async function ironic(engine: Engine, t: TestContext, as: "owner" | "writer" = "owner") {
  const made = await withDatabase(engine, t);
  await loadIronic(made.db, engine, fleet(2));
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const writer =
    as === "writer" ? await made.server?.restrictedUser("writer", made.name, rights) : undefined;
  const database = await openedAt(writer?.url ?? made.url, t);
  return { database, sql: made.db, user: writer?.user ?? "" };
}

/** Indexes on a table of notes that name nodes, and whether one leads to the notes of a node. */
const NOTES: readonly (readonly [name: string, index: string, leads: boolean])[] = [
  ["there is none", "", false],
  ["one of some rows", "CREATE INDEX n ON notes (node_id) WHERE node_id > 1", false],
  ["one that begins with another column", "CREATE INDEX n ON notes (text, node_id)", false],
  ["one of an expression", "CREATE INDEX n ON notes (abs(node_id))", false],
  ["one of it and another column", "CREATE INDEX n ON notes (node_id, text)", true],
];
const OF_POSTGRESQL: typeof NOTES = [
  ["one that was not finished", "CREATE UNIQUE INDEX CONCURRENTLY n ON notes (node_id)", false],
  ["one of ranges", "CREATE INDEX n ON notes USING brin (node_id)", false],
  ["one of all but nulls", "CREATE INDEX n ON notes (node_id) WHERE node_id IS NOT NULL", true],
  ["one of hashes", "CREATE INDEX n ON notes USING hash (node_id)", true],
];

for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, a key counts as without an index unless one leads to all rows of a node`, async (t) => {
    const at = await ironic(engine, t);
    const [node] = await at.sql("nodes").select("id").limit(1);
    for (const [name, index, leads] of [...NOTES, ...(engine === "sqlite" ? [] : OF_POSTGRESQL)]) {
      await at.sql.raw("CREATE TABLE notes (node_id int REFERENCES nodes (id), text varchar(9))");
      await at.sql("notes").insert([1, 2].map(() => ({ node_id: node.id, text: "twice" })));
      if (index !== "")
        await at.sql
          .raw(index)
          .catch((error: unknown) => assert.match(name, /not finished/, String(error)));
      const keys: readonly ScannedKey[] = await scannedKeys(at.database);
      const told = keys.flatMap(({ table, column, rows }) =>
        table === "notes" ? [`${column} ${rows}`] : [],
      );
      assert.deepEqual(told, leads ? [] : ["node_id 2"], name);
      await at.sql.raw("DROP TABLE notes");
    }
  });

for (const engine of engines("postgresql"))
  test("a table that this user may not read is told of with the rows the server estimates", async (t) => {
    const at = await ironic(engine, t, "writer");
    await at.sql.raw("CREATE TABLE notes (node_id int REFERENCES nodes (id))");
    await at.sql.raw("INSERT INTO notes SELECT id FROM nodes, generate_series(1, 100)");
    await at.sql.raw("ANALYZE notes");
    await at.sql.raw(`REVOKE SELECT ON notes FROM ${at.user}`);
    const rows = 100 * Number((await at.sql("nodes").count({ n: "*" }).first())?.n);
    const keys = await scannedKeys(at.database);
    const told = keys.filter(({ table }) => table === "notes");
    assert.deepEqual(told, [{ table: "notes", column: "node_id", rows }]);
  });

for (const engine of engines("postgresql"))
  test("on postgresql, a key of a table that the search path hides does not count", async (t) => {
    const at = await ironic(engine, t);
    await at.sql.raw("CREATE SCHEMA apart");
    await at.sql.raw("CREATE TABLE apart.notes (node_id int REFERENCES nodes (id))");
    const keys = await scannedKeys(at.database);
    assert.ok(keys.every(({ table }) => table !== "notes"));
  });

for (const engine of engines("mysql"))
  test("MySQL makes an index for each key by itself", async (t) => {
    const at = await ironic(engine, t);
    assert.deepEqual(await scannedKeys(at.database), []);
  });
