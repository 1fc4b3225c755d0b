import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder, sql } from "../../../src/systems/database/read.ts";
import { integer, string } from "../../../src/systems/database/rows.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";

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
    assert.deepEqual(
      all.found,
      rows.map(({ name }) => name),
    );
    assert.deepEqual((await read("name = 'n-1'")).pages, [2000, 0]);
  });
