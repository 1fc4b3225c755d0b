import assert from "node:assert/strict";
import { test } from "node:test";
import { lockTarget } from "../../../src/edge/database/write.ts";
import { MigrationError } from "../../../src/model/error.ts";
import { needs } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { proxyTo } from "../../support/proxy.ts";

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a lock whose client is gone without a word names its session, and ends soon`, async (t) => {
    const server = await needs(engine);
    const line = await proxyTo(server.port, t);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const patience = { limit: 1000, tell: () => {} };
    const gone = await openedAt(home.replace(`:${server.port}/`, `:${line.port}/`), t, {
      readOnly: false,
      patience,
    });
    const other = await openedAt(home, t, { readOnly: false });
    await lockTarget(gone, 2);
    const refused = await lockTarget(other).catch((error: unknown) => error);
    assert.ok(refused instanceof MigrationError);
    assert.equal(refused.code, "N2I-E302");
    assert.match(
      refused.message,
      /in session \d+ of the server from .+, connected since \d{4}-.+ UTC/,
    );
    assert.match(
      refused.fix ?? "",
      engine === "mysql" ? /: KILL \d+;/ : /pg_terminate_backend\(\d+\);/,
    );
    line.lose();
    for (;;) {
      const lock = await lockTarget(other).catch(() => null);
      if (lock !== null) return void (await lock.release());
    }
  });

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a lock whose client lives is kept past the time after which the server ends silent ones`, async (t) => {
    const server = await needs(engine);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const database = await openedAt(home, t, { readOnly: false });
    const lock = await lockTarget(database, 1);
    // The server itself counts, on a session that it would end.
    const sleep = engine === "mysql" ? "SELECT SLEEP(2.5)" : "SELECT pg_sleep(2.5)";
    await database.knex.raw(sleep);
    await lock.check();
    await lock.release();
  });
