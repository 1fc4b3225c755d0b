import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { loadIronic } from "../../../src/demo/load-case.ts";
import {
  createIndex,
  dropIndex,
  indexState,
  scannedKeys,
} from "../../../src/edge/ironic-db/indexes.ts";
import type { Engine } from "../../../src/model/database.ts";
import type { Entry } from "../../../src/model/journal.ts";
import { indexesLeft } from "../../../src/model/journal.ts";
import type { ScannedKey } from "../../../src/model/target.ts";
import { dropLeft, withIndexes } from "../../../src/stages/indexes.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { fleet } from "../../support/fleet.ts";
import { openedAt } from "../../support/opened.ts";

const INDEX = "nova2ironic_ports_node_id";
/** So many that a few ports are worth an index. */
const MANY = 1e9;

/** Ironic's database with two machines, by its owner or by a user who may only write rows. */
async function ironic(engine: Engine, t: TestContext, as: "owner" | "writer" = "owner") {
  const made = await withDatabase(engine, t);
  await loadIronic(made.db, engine, fleet(2));
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const writer =
    as === "writer" ? await made.server?.restrictedUser("writer", made.name, rights) : undefined;
  const url = writer?.url ?? made.url;
  return { ...(await opened(url, t)), sql: made.db, url, user: writer?.user ?? "" };
}

async function opened(url: string, t: TestContext) {
  const database = await openedAt(url, t);
  const ports = async () => (await scannedKeys(database)).find(({ table }) => table === "ports");
  const indexes = {
    scanned: () => scannedKeys(database),
    create: (key: Parameters<typeof createIndex>[1]) => createIndex(database, key),
    drop: (key: Parameters<typeof dropIndex>[1]) => dropIndex(database, key),
    state: (key: Parameters<typeof dropIndex>[1]) => indexState(database, key),
  };
  return { ports, indexes };
}

function noting() {
  const entries: Entry[] = [];
  const lines: string[] = [];
  const append = (entry: Entry): Promise<void> => Promise.resolve(void entries.push(entry));
  const journal = { entries: () => entries, append };
  const session = { journal, now: () => "2023-05-01T10:00:00.000Z", by: "operator" };
  const tell = (text: string): void => void lines.push(text);
  return { entries, lines, session, sink: { say: tell, result: tell } };
}

for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, a key that a deleted node makes the server read has an index for that time alone`, async (t) => {
    const at = await ironic(engine, t);
    const { session, sink, entries } = noting();
    const key = await at.ports();
    assert.deepEqual([key?.column, key?.ours, key?.index], ["node_id", true, INDEX]);
    assert.ok((key?.rows ?? 0) > 0);
    const inside = withIndexes(session, at, MANY, sink, async () => {
      assert.equal(await at.ports(), undefined);
      assert.deepEqual(
        indexesLeft(entries).map(({ index }) => index),
        [INDEX],
      );
      throw new Error("it failed amid of it");
    });
    await assert.rejects(inside, /amid/);
    assert.ok(await at.ports());
    assert.deepEqual(entries.map((entry) => entry.do).toSorted(), ["gone", "resource"]);
    await withIndexes(session, at, 1, sink, async () => assert.ok(await at.ports()));
    assert.equal(entries.length, 2);
  });

testOnce(
  "an index that a killed rollback left is dropped by the next one, and by apply",
  async (t) => {
    const at = await ironic("sqlite", t);
    const { session, entries } = noting();
    const key = await at.ports();
    assert.ok(key);
    const left = { kind: "index", mark: key.index, name: "ports.node_id", at: "", by: "" } as const;
    await session.journal.append({ do: "resource", ...left });
    await at.indexes.create(key);
    await dropLeft(session, at);
    assert.ok(await at.ports());
    assert.deepEqual(indexesLeft(entries), []);
    await dropLeft(session, at);
    assert.equal(entries.length, 2);
  },
);

for (const engine of engines("postgresql"))
  test("who does not own the table makes no index, and is told what its owner runs", async (t) => {
    const at = await ironic(engine, t, "writer");
    const { session, sink, entries, lines } = noting();
    assert.equal((await at.ports())?.ours, false);
    await withIndexes(session, at, MANY, sink, async () => assert.ok(await at.ports()));
    assert.deepEqual(entries, []);
    assert.match(lines.join("\n"), /CREATE INDEX nova2ironic_ports_node_id ON ports \(node_id\);/);
  });

for (const engine of engines("postgresql"))
  test("an index that cannot be made after all is said, and nothing stops", async (t) => {
    const at = await ironic(engine, t, "writer");
    const { session, sink, entries } = noting();
    const scanned = async () => (await at.indexes.scanned()).map((key) => ({ ...key, ours: true }));
    const tried = { indexes: { ...at.indexes, scanned } };
    assert.equal(await withIndexes(session, tried, MANY, sink, async () => 1), 1);
    assert.deepEqual(indexesLeft(entries), []);
  });

for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, an index of that name that somebody else made is left alone`, async (t) => {
    const at = await ironic(engine, t);
    const { session, sink, entries, lines } = noting();
    await at.sql.raw(`CREATE INDEX ${INDEX} ON ports (uuid, node_id)`);
    const key = await at.ports();
    assert.ok(key);
    await withIndexes(session, at, MANY, sink, () => Promise.resolve());
    assert.deepEqual(entries, []);
    assert.match(lines.join("\n"), /is there, and is not this run's/);
    // Nor by the journal of a rollback that died before it made its own.
    const left = { kind: "index", mark: INDEX, name: "ports.node_id", at: "", by: "" } as const;
    await session.journal.append({ do: "resource", ...left });
    await dropLeft(session, at);
    assert.equal(await at.indexes.state(key), "other");
    assert.deepEqual(
      indexesLeft(entries).map(({ index }) => index),
      [INDEX],
    );
    await at.sql.raw(`DROP INDEX ${INDEX}`);
    await dropLeft(session, at);
    assert.deepEqual(indexesLeft(entries), []);
  });

for (const engine of engines("postgresql"))
  test("on postgresql, an index in a schema whose name needs quotes is dropped, and one elsewhere of its name is not", async (t) => {
    const at = await ironic(engine, t);
    const path = `SET search_path = elsewhere, "ironic-x"`;
    const [name] = (await at.sql.raw("SELECT current_database() AS name")).rows;
    for (const sql of [
      `ALTER SCHEMA public RENAME TO "ironic-x"`,
      "CREATE SCHEMA elsewhere",
      "CREATE TABLE elsewhere.notes (node_id int)",
      `CREATE INDEX ${INDEX} ON elsewhere.notes (node_id)`,
      `ALTER DATABASE ${name.name} ${path}`,
    ])
      await at.sql.raw(sql);
    const { session, sink, entries } = noting();
    const again = await opened(at.url, t);
    await withIndexes(session, again, MANY, sink, async () =>
      assert.equal(await again.ports(), undefined),
    );
    assert.deepEqual(
      entries.map((entry) => entry.do),
      ["resource", "gone"],
    );
    assert.ok(await again.ports());
    const { rows } = await at.sql.raw(
      "SELECT schemaname FROM pg_indexes WHERE indexname = ?",
      INDEX,
    );
    assert.deepEqual(rows, [{ schemaname: "elsewhere" }]);
  });

for (const engine of engines("postgresql"))
  test("on postgresql, a table out of sight is no key, and a busy one holds nobody up for long", async (t) => {
    const at = await ironic(engine, t);
    await at.sql.raw("CREATE SCHEMA apart");
    await at.sql.raw("CREATE TABLE apart.notes (node_id int REFERENCES nodes (id))");
    const keys = await at.indexes.scanned();
    assert.ok(keys.every(({ table }) => table !== "notes"));
    const key = await at.ports();
    assert.ok(key);
    const reader = await at.sql.transaction();
    await reader.raw("LOCK TABLE ports IN ROW EXCLUSIVE MODE");
    await assert.rejects(at.indexes.create(key), { name: "MigrationError" });
    await reader.rollback();
    await at.indexes.create(key);
    assert.equal(await at.indexes.state(key), "ours");
  });

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
      const keys: readonly ScannedKey[] = await at.indexes.scanned();
      assert.deepEqual(
        keys.flatMap(({ table, column, rows }) => (table === "notes" ? [`${column} ${rows}`] : [])),
        leads ? [] : ["node_id 2"],
        name,
      );
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
    const keys = await at.indexes.scanned();
    assert.deepEqual(
      keys.filter(({ table }) => table === "notes"),
      [
        {
          table: "notes",
          column: "node_id",
          rows,
          ours: false,
          index: "nova2ironic_notes_node_id",
        },
      ],
    );
    const { session, sink, lines } = noting();
    await withIndexes(session, at, MANY, sink, () => Promise.resolve());
    assert.match(lines.join("\n"), /CREATE INDEX nova2ironic_notes_node_id ON notes \(node_id\);/);
  });

for (const engine of engines("mysql"))
  test("MySQL makes an index for each key by itself", async (t) => {
    const at = await ironic(engine, t);
    assert.deepEqual(await at.indexes.scanned(), []);
  });
