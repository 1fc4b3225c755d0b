import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import type { Database } from "../../../src/systems/database/open.ts";
import {
  acquiredLocks,
  acquireLock,
  releaseLock,
  renewLock,
} from "../../../src/takeover/leases/locks.ts";
import { extendSchema } from "../../../src/takeover/leases/schema.ts";
import { loadNovaBm } from "../../cases/load-case.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

export const ENGINES = ["sqlite", "mysql", "postgresql"] as const satisfies Engine[];

/** Milliseconds, more than any test takes. */
export const TTL = 86_400_000;
export const CONTENDERS = 24;

/** Of many contenders at these addresses exactly one has the lock, in each round. */
export async function contend(t: TestContext, urls: readonly string[], rounds: number) {
  const contenders: Database[] = [];
  for (let at = 0; at < CONTENDERS; at += 1)
    contenders.push(await opened(urls[at % urls.length] ?? "", t, true));
  for (let round = 1; round <= rounds; round += 1) {
    const got = await Promise.all(
      contenders.map((database, at) =>
        acquireLock(database, "node:x", { owner: `c${at}`, ttl: TTL }),
      ),
    );
    const [at, more] = [...got.keys()].filter((each) => got[each] !== null);
    const [winner, lock] = [contenders[at ?? -1], got[at ?? -1]];
    assert.ok(winner && lock && more === undefined, `round ${round}`);
    const { token } = await winner.knex("bm_locks").where({ resource: "node:x" }).first();
    assert.equal(Number(token), round, "one owner more, once a round");
    assert.equal((await acquiredLocks(winner))[0]?.owner, `c${at}`);
    assert.equal(await renewLock(winner, lock, TTL), true);
    assert.equal(await releaseLock(winner, lock), true);
  }
}

export async function novaBm(engine: Engine, t: TestContext, charset?: string) {
  const made = await withDatabase(engine, t, charset);
  await loadNovaBm(made.db, engine, SMALL);
  return made;
}

export function opened(url: string, t: Pick<TestContext, "after">, autocommit = false) {
  return openedAt(url, t, { readOnly: false, autocommit });
}

/** A nova_bm that was extended, and a connection that keeps leases in it. */
export async function leased(engine: Engine, t: TestContext) {
  const made = await novaBm(engine, t);
  await extendSchema(await opened(made.url, t));
  return { made, database: await opened(made.url, t, true) };
}
