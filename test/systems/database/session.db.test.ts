import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import type { Database } from "../../../src/systems/database/open.ts";
import { lacking } from "../../../src/systems/database/rights.ts";
import {
  askNumber,
  integer,
  type RawRow,
  select,
  text,
  time,
} from "../../../src/systems/database/rows.ts";
import { defining, writing } from "../../../src/systems/database/write.ts";
import { connect } from "../../lab/connect.ts";
import { withDatabase } from "../../lab/index.ts";
import { startMariadb } from "../../lab/mariadb.ts";
import { openedAt } from "../../support/opened.ts";

async function one(database: Database, sql: string, values: readonly unknown[] = []) {
  const [row] = await select(database, database.knex, sql, values);
  return row ?? ({} as RawRow);
}

test("on postgresql, what a database sets for its sessions changes nothing read or written", async (t) => {
  const made = await withDatabase("postgresql", t);
  for (const setting of [
    "datestyle='German'",
    "array_nulls=off",
    "bytea_output='escape'",
    "client_encoding='LATIN1'",
    "idle_in_transaction_session_timeout='1s'",
    "default_transaction_isolation='serializable'",
  ])
    await made.db.raw(`ALTER DATABASE ${made.name} SET ${setting}`);
  const database = await openedAt(made.url, t);
  const row = await one(
    database,
    "SELECT timestamp '2014-05-01 10:00:00' AS at, '\\x01'::bytea AS bytes, (?::text[])[1] IS NULL AS none, '€' AS euro, current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('transaction_isolation') AS level",
    [[null]],
  );
  assert.equal(time(row.at), "2014-05-01 10:00:00");
  assert.equal(text(row.bytes), "\u0001");
  assert.equal(row.none, true, "NULL in an array is not the word");
  assert.equal(row.euro, "€");
  assert.equal(row.idle, "0");
  assert.equal(row.level, "read committed");
});

test("on mysql, what a server sets for its sessions changes nothing read or written", async (t) => {
  const server = await startMariadb("in memory"); // its own: the settings are the whole server's
  t.after(() => server.stop());
  await server.newDatabase("session");
  const account = await server.restrictedUser("tool", "session", "SELECT, INSERT");
  const db = connect({ ...server, database: "session" });
  t.after(() => db.destroy());
  await db.raw("CREATE TABLE words (word VARCHAR(9)) CHARACTER SET utf8mb4");
  await db.raw("INSERT INTO words VALUES ('€'), ('€')");
  for (const setting of [
    "init_connect='SET NAMES latin1'",
    "autocommit=0",
    "completion_type=1",
    "sql_select_limit=1",
    "sql_mode='ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
    "unique_checks=0",
    "idle_transaction_timeout=1",
    "wait_timeout=1",
  ])
    await db.raw(`SET GLOBAL ${setting}`);
  const database = await openedAt(account.url, t);
  const words = await select(database, database.knex, "SELECT word FROM words");
  assert.deepEqual(
    words.map(({ word }) => word),
    ["€", "€"],
  );
  const said = `q'uo"te\\ back% ?? :b`;
  const row = await one(
    database,
    "SELECT ? AS said, @@autocommit AS auto, @@unique_checks AS checks, @@idle_transaction_timeout AS idle, @@wait_timeout AS wait, @@completion_type AS chain",
    [said],
  );
  assert.equal(row.said, said);
  assert.deepEqual([row.auto, row.checks, row.idle].map(integer), [1, 1, 0]);
  assert.equal(integer(row.wait), 28_800);
  assert.equal(row.chain, "NO_CHAIN");

  await t.test("nor is a replica written to by those whom its server would let", async () => {
    await db.raw("SET GLOBAL read_only=1");
    const url = server.url("session");
    const replica = await openedAt(url, t);
    const add = (trx: Knex) => trx.raw("INSERT INTO words VALUES ('added')");
    await assert.rejects(writing(replica, add), { code: "N2I-E206" });
    const wanted = new Map([["words", new Set(["INSERT"] as const)]]);
    await assert.rejects(lacking(replica, wanted), { code: "N2I-E206" });
    const table = "CREATE TABLE more (word VARCHAR(9))";
    await assert.rejects(defining(replica, "making a table", table), { code: "N2I-E206" });
    await assert.rejects(openedAt(url, t, { readOnly: false, autocommit: true }), {
      code: "N2I-E206",
    });
    assert.equal(await askNumber(replica, "counting", "SELECT count(*) FROM words"), 2);
    assert.equal((await db.raw("SHOW TABLES"))[0].length, 1);
  });
});

test("text of a Latin-1 and of a four-byte column reads the same whatever charset the address names", async (t) => {
  const made = await withDatabase("mysql", t, "latin1");
  await made.db.raw("CREATE TABLE kept (a TEXT, b TEXT CHARACTER SET utf8mb4)");
  await made.db("kept").insert({ a: "p\u00e4ss", b: "\u{1f511}" });
  for (const query of ["", "?charset=utf8", "?charset=latin1", "?charset=utf8mb4&use_unicode=0"]) {
    const database = await openedAt(`${made.url}${query}`, t, { readOnly: true });
    const rows = await database.knex("kept").select();
    assert.deepEqual(rows, [{ a: "p\u00e4ss", b: "\u{1f511}" }], query);
  }
});
