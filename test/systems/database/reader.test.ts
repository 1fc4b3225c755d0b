import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf } from "../../../src/systems/database/identity.ts";
import { readTransaction } from "../../../src/systems/database/open.ts";
import { askNumber } from "../../../src/systems/database/rows.ts";
import { committed, writing } from "../../../src/systems/database/write.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

for (const engine of engines())
  test(`on ${engine}, the server refuses what a reader would write, whatever its user may do`, async (t) => {
    const made = await withDatabase(engine, t);
    await made.db.raw("CREATE TABLE kept (n INTEGER)");
    const database = await openedAt(made.url, t, { readOnly: true });
    const trx = await readTransaction(database);
    const insert = "INSERT INTO kept VALUES (1)";
    await assert.rejects(trx.raw(insert), /read.?only/i);
    await trx.rollback();
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

testOnce("a Galera cluster is one server, whichever of its nodes answers", () => {
  const uuid = "8a3114dc-e585-11f1-8072-0ee744d7db7f";
  assert.equal(clusterOf(`wsrep_cluster_state_uuid ${uuid}`), `wsrep cluster ${uuid}`);
  for (const alone of [
    "",
    "wsrep_cluster_state_uuid ",
    `wsrep_cluster_state_uuid ${uuid.replace(/\w/g, "0")}`,
  ])
    assert.equal(clusterOf(alone), null);
});
