import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { writing } from "../../../src/systems/database/write.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { connect } from "../../lab/connect.ts";
import { openedAt } from "../../support/opened.ts";

/** Writes the file until it may end, and then a thousand rows that it takes back. */
const WRITER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const db = new (require("libsql"))(workerData.file);
  db.exec("BEGIN IMMEDIATE");
  parentPort.postMessage("it writes");
  Atomics.wait(workerData.may, 0, 0);
  for (let row = 0; row < 1000; row++) db.exec("INSERT INTO nodes VALUES (0)");
  db.exec("ROLLBACK");
`;

/** @returns what lets it end: SQLite waits for it where the whole thread waits */
async function writer(t: TestContext, file: string): Promise<() => void> {
  const may = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(WRITER, { eval: true, workerData: { file, may } });
  t.after(() => worker.terminate());
  await once(worker, "message");
  return () => {
    Atomics.store(may, 0, 1);
    Atomics.notify(may, 0);
  };
}

test("on sqlite, who reads and then writes waits for another who writes, and is told of rows in other hands", async (t) => {
  const folder = privateFolder(t);
  const filename = join(folder, "ironic.sqlite");
  const db = connect({ engine: "sqlite", database: filename });
  await db.raw("CREATE TABLE nodes (id INTEGER)");
  await db.destroy();
  const database = await openedAt(`sqlite:///${filename}`, t);
  const adds = () =>
    writing(database, async (trx) => {
      const rows = await database.run("reading nodes", () => trx("nodes").count({ n: "*" }));
      await database.run("writing nodes", () => trx("nodes").insert({ id: rows.length }));
    });
  const end = await writer(t, filename);
  database.knex.on("query", ({ sql }: { readonly sql: string }) => {
    if (sql === "BEGIN IMMEDIATE") end();
  });
  await adds();
  assert.equal((await database.knex("nodes")).length, 1);

  await database.knex.raw("PRAGMA busy_timeout=0");
  await writer(t, filename);
  await assert.rejects(adds(), {
    code: "N2I-E207",
    message: /has locked the rows for .*SQLITE_BUSY/,
  });
});
