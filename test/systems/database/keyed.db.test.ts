import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../../src/model/database.ts";
import { keyed } from "../../../src/systems/database/rows.ts";
import { withDatabase } from "../../lab/index.ts";

/** An open database that counts what is asked. */
function counting(engine: Engine, db: Knex) {
  const asked: string[] = [];
  const knex = {
    raw: (sql: string, values: readonly never[]) => {
      asked.push(sql);
      return db.raw(sql, values);
    },
  };
  const run = <T>(_: string, work: () => PromiseLike<T>): Promise<T> => Promise.resolve(work());
  return { engine, knex, run, asked };
}

test("on MariaDB rows are found by the index of their column, whatever its statistics say", async (t) => {
  const place = await withDatabase("mysql", t);
  const { db } = place;
  await db.raw(
    "CREATE TABLE things (id INT PRIMARY KEY, name CHAR(36), note TEXT, size INT, " +
      "UNIQUE `by name` (name), KEY twice (NAME, id), KEY last (id, size), KEY unseen (size), FULLTEXT (note)) " +
      "ENGINE=InnoDB STATS_AUTO_RECALC=0",
  );
  await db.raw("ALTER TABLE things ALTER INDEX unseen IGNORED");
  await db.raw("CREATE VIEW shown AS SELECT * FROM things");
  await db.raw("INSERT INTO things (id, name) SELECT seq, concat('n-', seq) FROM seq_1_to_3000");
  const database = counting("mysql", db);
  const from = (table: string, column: string) => keyed(database, `{${table}.${column} t}`);
  const hinted = await from("things", "name");
  assert.equal(hinted, "things t FORCE INDEX (`by name`,`twice`)");
  assert.equal(await from("things", "id"), "things t FORCE INDEX (`PRIMARY`,`last`)");
  assert.equal(database.asked.length, 1);
  for (const column of ["size", "note"]) assert.equal(await from("things", column), "things t");
  assert.equal(await from("shown", "name"), "shown t");

  const names = Array.from({ length: 500 }, (_, at) => `'n-${at}'`).join();
  const how = async (table: string): Promise<string> => {
    const [[row]] = await db.raw(`EXPLAIN SELECT * FROM ${table} WHERE name IN (${names})`);
    return row.type;
  };
  assert.equal(await how("things t"), "ALL");
  assert.equal(await how(hinted), "range");
});

for (const engine of ["sqlite", "postgresql"] as const)
  test(`on ${engine}, which knows no such hint, a table is named as it is`, async (t) => {
    const place = await withDatabase(engine, t);
    const database = counting(engine, place.db);
    assert.equal(await keyed(database, "{things.name}"), "things");
    assert.equal(await keyed(database, "{things.name t}"), "things t");
    assert.deepEqual(database.asked, []);
  });
