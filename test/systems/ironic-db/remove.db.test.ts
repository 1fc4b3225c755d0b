import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import type { Row } from "../../../src/model/machine.ts";
import type { Step } from "../../../src/model/plan.ts";
import { loadIronic } from "../../cases/load-case.ts";
import { rowsOf } from "../../lab/connect.ts";
import { withDatabase } from "../../lab/index.ts";
import { fleet } from "../../support/fleet.ts";
import { HOOKS } from "../../support/hooks.ts";
import { openedAt } from "../../support/opened.ts";
import { targetOf } from "../../support/planned-case.ts";

const uuidOf = (kind: number, at: number) => `${kind}0000000-0000-4000-8000-00000000000${at}`;

/** Creates two nodes with a trait and a port each. */
const STEPS: readonly Step[] = [0, 1].flatMap((at) => {
  const machine = uuidOf(1, at);
  const step = (resource: Step["resource"], after: Row): Step => ({
    ...{ id: `${resource}:${String(after.uuid)}`, resource, machine, before: null, after },
  });
  const address = `52:54:00:00:00:0${at}`;
  return [
    step("node", { uuid: machine, driver: "ipmi", maintenance: false, traits: ["CUSTOM_OURS"] }),
    step("port", { uuid: uuidOf(2, at), node_uuid: machine, address }),
  ];
});

/** Sessions of the test's own database that wait for a lock. */
const WAITING = {
  mysql:
    "SELECT 1 FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()",
  postgresql:
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
};

async function untilWaiting(engine: keyof typeof WAITING, sql: Knex): Promise<void> {
  for (;;) {
    if ((await rowsOf(sql, WAITING[engine])).length > 0) return;
    // MariaDB renews that table only when nobody has read it for 0.1 s.
    await sleep(150);
  }
}

async function loaded(engine: keyof typeof WAITING, t: TestContext) {
  const made = await withDatabase(engine, t, "utf8mb4");
  await loadIronic(made.db, engine, fleet(0, "queens"));
  const database = await openedAt(made.url, t);
  const { target } = await targetOf(database);
  await target.perform(STEPS, HOOKS);
  return { target, sql: made.db };
}

const ADDED: readonly (readonly [what: string, table: string, row: object])[] = [
  ["port", "ports", { uuid: uuidOf(3, 0), address: "52:54:00:ff:ff:ff" }],
  ["trait", "node_traits", { trait: "CUSTOM_THEIRS", version: "1.0" }],
];

for (const engine of ["mysql", "postgresql"] as const)
  for (const [what, table, added] of ADDED)
    test(`on ${engine}, a ${what} that is added while a rollback waits for its node keeps that machine alone`, async (t) => {
      const at = await loaded(engine, t);
      const { target, sql } = at;
      const other = await sql.transaction();
      const { id } = await other("nodes")
        .select("id")
        .where({ uuid: uuidOf(1, 0) })
        .first();
      await other(table).insert({ ...added, node_id: id });
      const undone = STEPS.map((step) => ({ ...step, before: step.after, after: null }));
      const removing = target.perform(undone, HOOKS);
      await Promise.race([removing, untilWaiting(engine, sql)]);
      await other.commit();
      const { done, skipped: left } = await removing;
      const of = (machine: number) =>
        STEPS.slice(machine * 2, machine * 2 + 2).map((step) => step.id);
      assert.deepEqual(done, of(1));
      const ids = left.map((one) => one.id);
      assert.deepEqual(ids, of(0));
      assert.equal((await sql(table).where(added)).length, 1);
      assert.equal((await sql("node_traits").where({ trait: "CUSTOM_OURS" })).length, 1);
    });
