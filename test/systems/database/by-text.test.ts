import assert from "node:assert/strict";
import { test } from "node:test";
import { indexByText } from "../../../src/systems/database/by-text.ts";
import { integer } from "../../../src/systems/database/rows.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";

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
    const found = await db.transaction(async (trx) => {
      const index = await indexByText(
        { engine, knex: db, run: (_, work) => Promise.resolve(work()) },
        trx,
        "things",
        "name",
        "deleted = 0",
      );
      return index.ids(names);
    });
    const right = rows.filter(
      ({ name, deleted }) =>
        deleted === 0 && names.some((other) => other.toLowerCase() === name.toLowerCase()),
    );
    const wanted = right.map(({ id }) => integer(id) ?? 0);
    assert.ok(wanted.includes(9008), "the second page has one of them");
    assert.deepEqual(
      wanted.filter((id) => !found.includes(id)),
      [],
    );
    assert.ok(!found.includes(7), "a deleted row is none");
    assert.ok(found.length <= wanted.length + 2, "hardly any other row is asked for");
  });
