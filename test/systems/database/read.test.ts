import assert from "node:assert/strict";
import { clusterOf } from "../../../src/systems/database/identity.ts";
import { readTransaction } from "../../../src/systems/database/open.ts";
import { indexByText, inOrder, sql } from "../../../src/systems/database/read.ts";
import {
  ask,
  askNumber,
  columnList,
  garbledColumns,
  integer,
  string,
  text,
} from "../../../src/systems/database/rows.ts";
import { committed, writing } from "../../../src/systems/database/write.ts";
import { engines, test } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

for (const engine of engines())
  test(`on ${engine}, rows are found by a text no index knows, whatever its case, beyond one page`, async (t) => {
    const place = await withDatabase(engine, t);
    const { db } = place;
    await db.schema.createTable("things", (table) => {
      table.integer("id").primary();
      table.string("name");
      table.integer("deleted");
    });
    const row = (id: number) => ({ id, name: `Node-${id % 9000}`, deleted: id === 7 ? 1 : 0 });
    const rows = Array.from({ length: 10_500 }, (_, at) => row(at + 1));
    for (let at = 0; at < rows.length; at += 400)
      await db("things").insert(rows.slice(at, at + 400));

    const names = ["NODE-8", "node-7", "Node-8999", "nobody"];
    const statements: string[] = [];
    const found = await db.transaction(async (trx) => {
      const raw = (text: string, bindings: readonly never[]) => {
        statements.push(text);
        return trx.raw(text, bindings);
      };
      const index = await indexByText(
        { engine, knex: { raw }, run: (_, work) => Promise.resolve(work()) },
        "things",
        "name",
        "deleted = 0",
      );
      return index(names);
    });
    const right = rows.filter(
      ({ name, deleted }) =>
        deleted === 0 && names.some((other) => other.toLowerCase() === name.toLowerCase()),
    );
    const wanted = right.map(({ id }) => integer(id) ?? 0);
    assert.ok(wanted.includes(9008), "the second page has one of them");
    const sorted = found.toSorted((one, other) => one - other);
    assert.deepEqual(sorted, wanted, "and a deleted row is none");
    // SQLite uses the first bound only, so with a second one each page would scan all before it.
    const bounds = statements.map((text) => text.split("id >").length - 1);
    assert.deepEqual(bounds, [0, 1, 1, 1, 1, 1], "a page starts after the last one");
  });

for (const engine of engines())
  test(`on ${engine}, a table is read in order of its ids, page by page, each row once`, async (t) => {
    const place = await withDatabase(engine, t);
    const { db } = place;
    await db.schema.createTable("things", (table) => {
      table.bigInteger("id").primary();
      table.string("name");
    });
    // Beyond what a double holds, and the last page is full.
    const ids = Array.from({ length: 4000 }, (_, at) =>
      at < 3000 ? String(at * 3 - 7) : `90071992547409${100 + at}`,
    );
    const rows = ids.map((id, at) => ({ id, name: `n-${at % 2}` }));
    for (let at = 0; at < rows.length; at += 400)
      await db("things").insert(rows.slice(at, at + 400));
    const read = async (where: string) => {
      const pages: number[] = [];
      const found: string[] = [];
      const fields = { name: string, odd: sql("CASE WHEN name IN (?) THEN 1 ELSE 0 END", integer) };
      const database = {
        engine,
        knex: db,
        run: <T>(_: string, work: () => PromiseLike<T>) => Promise.resolve(work()),
      };
      for await (const page of inOrder(database, fields, "things", where, ["n-1"])) {
        pages.push(page.length);
        for (const row of page) {
          assert.equal(row.odd, row.name === "n-1" ? 1 : 0);
          found.push(row.name);
        }
      }
      return { pages, found };
    };
    const all = await read("1 = 1");
    assert.deepEqual(all.pages, [2000, 2000, 0]);
    const names = rows.map(({ name }) => name);
    assert.deepEqual(all.found, names);
    assert.deepEqual((await read("name = 'n-1'")).pages, [2000, 0]);
  });

test("SQLite's text is read completely, whatever its bytes", async (t) => {
  const made = await withDatabase("sqlite", t);
  await made.db.raw("CREATE TABLE things (id INTEGER PRIMARY KEY, name)");
  // The bytes in hexadecimal, the text, and whether it is garbled.
  const cases = [
    ["", "", false],
    ["61207e", "a ~", false],
    ["610a09", "a\n\t", false],
    ["617f", "a\x7f", false],
    ["c3a4e282acf09f9880", "ä€😀", false],
    ["61006200", "a\0b\0", false],
    ["0061ff", "\0aÿ", true],
    ["61ff62", "aÿb", true],
    ["80", "\x80", true],
    ["61c3", "aÃ", true],
    ["61c362", "aÃb", true],
    ["eda080", "í\xa0\x80", true],
    ["c080", "À\x80", true],
  ] as const;
  for (const [bytes] of cases)
    await made.db.raw(`INSERT INTO things (name) VALUES (CAST(x'${bytes}' AS text))`);
  const database = await openedAt(made.url, t, { readOnly: true });
  const sql = `SELECT ${columnList(database, ["name"])} FROM things ORDER BY id`;
  const rows = await ask(database, "reading things", sql);
  const found = rows.map((row) => [text(row.name), garbledColumns("sqlite", row).length > 0]);
  assert.deepEqual(
    found,
    cases.map(([, ...read]) => read),
  );
});

for (const engine of engines())
  test(`on ${engine}, the server refuses what a reader would write, whatever its user may do`, async (t) => {
    const made = await withDatabase(engine, t);
    await made.db.raw("CREATE TABLE kept (n INTEGER)");
    const database = await openedAt(made.url, t, { readOnly: true });
    const reading = await readTransaction(database);
    const insert = "INSERT INTO kept VALUES (1)";
    await assert.rejects(reading.knex.raw(insert), /read.?only/i);
    await reading.close();
    await assert.rejects(database.knex.raw(insert), /read.?only/i);
    assert.deepEqual(await made.db("kept").select(), []);
  });

/** Milliseconds to wait for a lock, longer than any test takes. */
const PATIENT = 100_000;

/** Sessions of this database that wait for a lock. */
const WAITING = {
  mysql:
    "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock' AND db = DATABASE()",
  postgresql:
    "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()",
};

for (const engine of engines())
  test(`on ${engine}, nothing is written but in a transaction that holds the lock of writers`, async (t) => {
    const made = await withDatabase(engine, t);
    await made.db.raw("CREATE TABLE kept (n INTEGER)");
    const [one, other] = [await openedAt(made.url, t), await openedAt(made.url, t)];
    const insert = "INSERT INTO kept VALUES (1)";
    // Before and after: the connection goes back to the pool as it was.
    for (let round = 0; round < 2; round++) {
      await assert.rejects(one.knex.raw(insert), /read.?only/i);
      const plain = await one.knex.transaction();
      await assert.rejects(plain.raw(insert), /read.?only/i);
      await plain.rollback();
      let next: Promise<void> | null = null;
      await writing(one, async (trx) => {
        await trx.raw(insert);
        if (engine !== "sqlite" && round === 1) {
          // A reader that waits in the server's queue gets the lock when the writer has ended.
          next = committed({ ...other, lockWait: PATIENT });
          while ((await askNumber(one, "looking", WAITING[engine])) === 0);
        }
        if (engine !== "sqlite" && round === 0)
          await assert.rejects(
            writing({ ...other, lockWait: 1000 }, () => Promise.resolve()),
            { code: "N2I-E318" },
          );
      });
      await next;
      await assert.rejects(
        writing(one, async (trx) => {
          await trx.raw(insert);
          throw new Error("no");
        }),
        /^Error: no$/,
      );
      await writing(other, () => Promise.resolve());
    }
    assert.equal((await made.db("kept").select()).length, 2);
  });

test("a Galera cluster is one server, whichever of its nodes answers", () => {
  const uuid = "8a3114dc-e585-11f1-8072-0ee744d7db7f";
  assert.equal(clusterOf(`wsrep_cluster_state_uuid ${uuid}`), `wsrep cluster ${uuid}`);
  for (const alone of [
    "",
    "wsrep_cluster_state_uuid ",
    `wsrep_cluster_state_uuid ${uuid.replace(/\w/g, "0")}`,
  ])
    assert.equal(clusterOf(alone), null);
});
