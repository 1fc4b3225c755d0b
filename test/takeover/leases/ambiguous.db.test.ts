import assert from "node:assert/strict";
import { test } from "node:test";
import { acquiredLocks, acquireLock, renewLock } from "../../../src/takeover/leases/locks.ts";
import { needs, type TestDatabase } from "../../lab/index.ts";
import { proxyTo } from "../../support/proxy.ts";
import { leased, opened } from "./place.ts";

const TTL = 60_000;

/** Makes a statement on bm_locks take a moment, during which its line can be cut. */
const SLOW = {
  mysql: ["CREATE TRIGGER slow BEFORE UPDATE ON bm_locks FOR EACH ROW DO SLEEP(0.6)"],
  postgresql: [
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END'",
    "CREATE TRIGGER slow BEFORE UPDATE ON bm_locks FOR EACH ROW EXECUTE PROCEDURE slow()",
  ],
} as const;

/** Waits until the server works on the tool's statement or, on a starved machine, has already answered it. */
async function working({ db, engine }: TestDatabase, answer: Promise<unknown>): Promise<void> {
  let isAnswered = false;
  void answer.finally(() => {
    isAnswered = true;
  });
  const asked = {
    mysql:
      "SELECT count(*) AS n FROM information_schema.processlist WHERE db = DATABASE() AND (info LIKE 'UPDATE bm_locks%' OR state = 'User sleep')",
    postgresql:
      "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'UPDATE bm_locks%'",
    sqlite: "SELECT 1 AS n",
  }[engine];
  while (!isAnswered) {
    const found = await db.raw(asked);
    if (Number((engine === "mysql" ? found[0] : found.rows)[0].n) > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a statement whose answer is lost is settled by what its row says`, async (t) => {
    const server = await needs(engine);
    const { made, database } = await leased(engine, t);
    const { db } = made;
    const line = await proxyTo(server.port, t);
    const url = made.url.replace(`:${server.port}/`, `:${line.port}/`);
    const cut = await opened(url, t, true);
    await acquireLock(database, "node:x", { owner: "before", ttl: -1 });
    for (const statement of SLOW[engine]) await db.raw(statement);
    const taking = acquireLock(cut, "node:x", { owner: "A", ttl: TTL });
    await working(made, taking);
    line.cut();
    const lock = await taking;
    const [held] = await acquiredLocks(database);
    // Both servers finish what they have begun, or do not: the row says which, and so does the answer.
    assert.deepEqual(lock === null ? null : "A", held?.owner ?? null);
    t.diagnostic(lock === null ? "it was not done" : "it was done");

    const mine = lock ?? (await acquireLock(database, "node:x", { owner: "A", ttl: TTL }));
    assert.ok(mine !== null);
    const renewing = renewLock(cut, mine, TTL);
    await working(made, renewing);
    line.cut();
    assert.equal(await renewing, true, "a renewal is asked for once more");
  });
