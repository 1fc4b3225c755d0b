import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import { loadIronic } from "../../../src/demo/load-case.ts";
import { copiedTables, definitionsOf } from "../../../src/edge/copy/definitions.ts";
import { copyTables, countAll, digestOfAll } from "../../../src/edge/copy/fill.ts";
import { tableNames } from "../../../src/edge/database/identity.ts";
import { type TestDatabase, withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

/** What drivers and dumps stumble over: names, defaults, bytes, dates of no day, keys that refer to each other. */
const ODD = {
  mysql: [
    "CREATE TABLE `o dd` (id bigint PRIMARY KEY AUTO_INCREMENT, `a b` varchar(9) DEFAULT 'x?', raw varbinary(9), at datetime, note text COLLATE utf8mb4_bin, UNIQUE KEY `k x` (`a b`))",
    "CREATE TABLE one (id int PRIMARY KEY, other int)",
    "CREATE TABLE two (id int PRIMARY KEY, one int, CONSTRAINT of_one FOREIGN KEY (one) REFERENCES one (id) ON DELETE CASCADE)",
    "ALTER TABLE one ADD CONSTRAINT of_two FOREIGN KEY (other) REFERENCES two (id)",
    "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
    "INSERT INTO `o dd` VALUES (7, 'a?', 0x00ff270a, '0000-00-00 00:00:00', 'é🔑\\n'), (9007199254740993, NULL, NULL, NULL, NULL)",
  ],
  postgresql: [
    `CREATE TYPE "odd mood" AS ENUM ('low', 'it''s')`,
    `CREATE TABLE "o dd" (id bigserial PRIMARY KEY, "a b" varchar(9) DEFAULT 'x?' UNIQUE, raw bytea, at timestamptz, note text, flag boolean DEFAULT true, mood "odd mood" DEFAULT 'it''s', CHECK (id > 0))`,
    `CREATE INDEX "lower x" ON "o dd" (lower("a b")) WHERE note IS NOT NULL`,
    "CREATE TABLE one (id int PRIMARY KEY, other int)",
    "CREATE TABLE two (id int PRIMARY KEY, one int, CONSTRAINT of_one FOREIGN KEY (one) REFERENCES one (id) ON DELETE CASCADE)",
    "ALTER TABLE one ADD CONSTRAINT of_two FOREIGN KEY (other) REFERENCES two (id)",
    `INSERT INTO "o dd" VALUES (7, 'a?', '\\x00ff270a', '2014-05-01 10:00:00.123456+02', E'é🔑\\n', false, 'low'), (9007199254740993, NULL, NULL, NULL, NULL, NULL, NULL)`,
  ],
};

async function perform(
  engine: "mysql" | "postgresql",
  db: Knex,
  statements: readonly string[],
): Promise<void> {
  const one = await db.client.acquireConnection();
  try {
    for (const sql of statements)
      await db.raw(engine === "mysql" ? sql : sql.replaceAll("?", "\\?")).connection(one);
    await db.raw("INSERT INTO one (id) VALUES (1)").connection(one);
    await db.raw("INSERT INTO two VALUES (2, 1)").connection(one);
    await db.raw("UPDATE one SET other = 2").connection(one);
  } finally {
    await db.client.releaseConnection(one);
  }
}

/** What the server itself says of columns, keys and indexes. */
const CATALOGUE = {
  mysql: [
    "SELECT table_name, column_name, column_type, is_nullable, column_default, collation_name, extra FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name, non_unique FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
    "SELECT table_name, constraint_name, referenced_table_name, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() ORDER BY 1, 2",
  ],
  postgresql: [
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
    "SELECT conrelid::regclass::text, conname, contype, confdeltype FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
  ],
};

async function catalogueOf({ db, engine }: TestDatabase): Promise<readonly unknown[]> {
  if (engine === "sqlite") return [];
  const told: unknown[] = [];
  for (const sql of CATALOGUE[engine]) {
    const answer = (await db.raw(sql)) as [object[]] & { readonly rows: object[] };
    const rows = engine === "mysql" ? answer[0] : answer.rows;
    assert.ok(rows.length > 0, sql);
    told.push(JSON.stringify(rows));
  }
  return told;
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a copy has the same definitions and the same rows, and counts on`, async (t) => {
    const [from, to] = [await withDatabase(engine, t), await withDatabase(engine, t)];
    await loadIronic(from.db, engine, {
      shows: "rows of an Ironic that is used",
      nova_bm: { nodes: [] },
      ironic: { release: "2023.1", nodes: [{ uuid: "d0000000-0000-4000-8000-000000000001" }] },
    });
    await perform(engine, from.db, ODD[engine]);
    const source = await openedAt(from.url, t, { readOnly: true });
    const copy = await openedAt(to.url, t);
    const { signal } = new AbortController();
    const seen: number[] = [];
    assert.equal(
      await copyTables(source, copy, undefined, signal, (rows) => seen.push(rows)),
      true,
    );
    const names = (await copiedTables(source)).map(({ name }) => name);
    assert.deepEqual(await definitionsOf(copy, names), await definitionsOf(source, names));
    assert.deepEqual(await catalogueOf(to), await catalogueOf(from));
    assert.equal(await digestOfAll(copy), await digestOfAll(source));
    assert.equal(seen.at(-1), await countAll(copy));
    const part = await withDatabase(engine, t);
    const some = await openedAt(part.url, t);
    assert.equal(await copyTables(source, some, ["two", "absent"], signal, () => undefined), true);
    assert.deepEqual([...(await tableNames(some))], ["two"]);
    // Nobody refers to a row that is not there.
    await part.db("two").insert({ id: 3, one: 99 });
    await to.db("o dd").insert({ "a b": "new" });
    const [{ id }] = await to.db("o dd").where({ "a b": "new" }).select("id");
    assert.equal(String(id), "9007199254740994");
  });
