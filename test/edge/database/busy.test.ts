import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { writing } from "../../../src/edge/database/write.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { connect } from "../../lab/connect.ts";
import { openedAt } from "../../support/opened.ts";

/** Writes the file for so many milliseconds: SQLite waits for it where the whole thread waits. */
const WRITER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const db = new (require("libsql"))(workerData.file);
  db.exec("BEGIN IMMEDIATE");
  parentPort.postMessage("it writes");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData.ms);
  db.exec("ROLLBACK");
`;

async function writtenBy(t: TestContext, file: string, ms: number): Promise<void> {
  const worker = new Worker(WRITER, { eval: true, workerData: { file, ms } });
  t.after(() => worker.terminate());
  await once(worker, "message");
}

test("on sqlite, who reads and then writes waits for another who writes, and is told of rows in other hands", async (t) => {
  const folder = privateFolder(t);
  const filename = join(folder, "ironic.sqlite");
  const nobody = { host: "", port: 0, user: "", password: "" };
  const db = connect({ engine: "sqlite", database: filename, ...nobody });
  await db.raw("CREATE TABLE nodes (id INTEGER)");
  await db.destroy();
  const database = await openedAt(`sqlite:///${filename}`, t);
  const adds = () =>
    writing(database, async (trx) => {
      const rows = await database.run("reading nodes", () => trx("nodes").count({ n: "*" }));
      await database.run("writing nodes", () => trx("nodes").insert({ id: rows.length }));
    });
  await writtenBy(t, filename, 300);
  await adds();
  assert.equal((await database.knex("nodes")).length, 1);

  await database.knex.raw("PRAGMA busy_timeout=10");
  await writtenBy(t, filename, 3_600_000);
  await assert.rejects(adds(), {
    code: "N2I-E207",
    message: /has the rows in other hands.*SQLITE_BUSY/,
  });
});
