import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { loadNova } from "../../../src/demo/load-case.ts";
import { runningComputes } from "../../../src/migrate/hosts/rules/running.ts";
import type { Engine } from "../../../src/model/database.ts";
import { readBeats } from "../../../src/systems/nova-db/services.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { cloud } from "./cloud.ts";
import { asDatabase, NOW } from "./rows.ts";

for (const engine of engines())
  test(`on ${engine}, a service row that somebody changed is no heartbeat since Liberty, and its report is`, async (t) => {
    const { database, services } = await novaOf(engine, t, 302);
    const change = (more: object) => services().where({ host: "compute-1" }).update(more);
    const look = () => readBeats(database, ["compute-1"]);
    const stale = { last_seen_up: "2014-12-01 00:00:00" };
    await change({ ...stale, updated_at: database.knex.raw(NOW[engine]) });
    const first = await look();
    assert.deepEqual(runningComputes(first, first), []);
    await change({ updated_at: "2014-12-01 00:00:10", disabled: true });
    assert.deepEqual(runningComputes(first, await look()), []);
    await change({ report_count: 11 });
    assert.equal(runningComputes(first, await look()).length, 1);
    await change({ report_count: 10, last_seen_up: database.knex.raw(NOW[engine]) });
    assert.match(runningComputes(first, await look())[0] ?? "", /^compute-1 \d+ s ago$/);
  });

/** A nova database of a version, with one nova-compute. */
async function novaOf(engine: Engine, t: TestContext, version: number) {
  const made = await withDatabase(engine, t);
  await loadNova(made.db, engine, cloud({ machines: 1, others: 1, version }));
  return { database: asDatabase(made.db, engine), services: () => made.db("services") };
}
