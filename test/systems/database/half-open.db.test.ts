import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { MigrationError } from "../../../src/lib/error.ts";
import { lockTarget } from "../../../src/systems/database/write.ts";
import { needs } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { proxyTo } from "../../support/proxy.ts";

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a lock whose client is gone without a word names its session, and ends soon`, async (t) => {
    const server = await needs(engine);
    const line = await proxyTo(server.port, t);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const patience = { limit: 60_000, tell: () => {} };
    const gone = await openedAt(home.replace(`:${server.port}/`, `:${line.port}/`), t, {
      readOnly: false,
      patience,
    });
    const other = await openedAt(home, t, { readOnly: false });
    const held = await lockTarget(gone);
    const refused = await lockTarget(other).catch((error: unknown) => error);
    assert.ok(refused instanceof MigrationError);
    assert.equal(refused.code, "N2I-E302");
    assert.match(
      refused.message,
      /in session \d+ of the server from .+, last heard of at \d{4}-.+ UTC/,
    );
    assert.match(
      refused.fix ?? "",
      engine === "mysql" ? /: KILL \d+;/ : /pg_terminate_backend\(\d+\);/,
    );
    await held.release();
    await lockTarget(gone, 2);
    line.lose();
    for (;;) {
      const lock = await lockTarget(other).catch(() => null);
      if (lock !== null) return void (await lock.release());
    }
  });

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, the session of a lock asks something from time to time, and less often than it is ended`, async (t) => {
    const server = await needs(engine);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const database = await openedAt(home, t, { readOnly: false });
    t.mock.timers.enable({ apis: ["setInterval"] });
    const lock = await lockTarget(database, 40);
    let asked = 0;
    database.knex.on("query-response", () => {
      asked += 1;
    });
    t.mock.timers.tick(39_000);
    while (asked < 3) await turn();
    await lock.check();
    await lock.release();
    t.mock.timers.tick(39_000);
    assert.equal(asked, 5, "three times, by check and by release");
  });
