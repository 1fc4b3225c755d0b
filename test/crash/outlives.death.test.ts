import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, statusOf } from "./truth.ts";

/**
 * A standby that never comes: every COMMIT of this database waits for it while it is closed.
 *
 * @returns also how many COMMITs wait, and how many other sessions the tool has
 */
async function absentStandby(made: Scene) {
  const server = await needs("postgresql");
  const admin = connect({ ...server, database: "postgres" });
  const set = async (name: string, value: string): Promise<void> => {
    await admin.raw(`ALTER SYSTEM SET ${name} = ${value}`);
    await admin.raw("SELECT pg_reload_conf()");
  };
  await set("synchronous_commit", "'local'");
  const [{ name }] = await made.sql(async (db) => {
    const { rows } = await db.raw("SELECT current_database() AS name");
    return rows as [{ name: string }];
  });
  await admin.raw(`ALTER DATABASE ${name} SET synchronous_commit = 'on'`);
  const open = () => set("synchronous_standby_names", "''");
  const end = async (): Promise<void> => {
    await open();
    await set("synchronous_commit", "DEFAULT");
    await admin.destroy();
  };
  const count = "SELECT count(*) AS n FROM pg_stat_activity WHERE usename LIKE 'tool%'";
  const waits = `${count} AND wait_event = 'SyncRep'`;
  const others = `${count} AND datname = current_database() AND wait_event IS DISTINCT FROM 'SyncRep'`;
  const close = async (): Promise<void> => {
    await set("synchronous_standby_names", "'nobody'");
    await heldAtLast(admin, connect({ ...server, database: name }));
  };
  return { open, waits, others, end, close };
}

/** Commits in `probe` until a commit waits: the server takes a new setting up in its own time. */
async function heldAtLast(admin: Knex, probe: Knex): Promise<void> {
  const { rows } = await probe.raw("SELECT pg_backend_pid() AS pid");
  const [{ pid }] = rows as [{ pid: number }];
  for (let held = false; !held; ) {
    let committed = false;
    const commit = probe.raw("SELECT pg_logical_emit_message(true, 'probe', '')").then(() => {
      committed = true;
    });
    while (!committed && !held) {
      const seen = await admin.raw(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ? AND wait_event = 'SyncRep'",
        [pid],
      );
      held = seen.rows.length === 1;
    }
    await commit;
  }
  await probe.destroy();
}

async function until(made: Scene, question: string, wanted: number): Promise<void> {
  for (let answer = -1; answer !== wanted; await sleep(50))
    answer = await made.sql(async (db) => Number((await db.raw(question)).rows[0]?.n));
}

const MACHINES = 6;

test("on PostgreSQL, a commit that outlives its client keeps every other run out until it ends", async (t) => {
  const made = await scene("postgresql", t, fleet(MACHINES));
  const before = await made.digest();
  const gate = await absentStandby(made);
  try {
    const started = made.start("apply", YES, "commit.before:1:pause");
    await started.said("failpoint commit.before");
    await gate.close();
    started.signal("SIGUSR2");
    await until(made, gate.waits, 1);
    started.signal("SIGKILL");
    await ends(128, started);
    // The run's own lock has died with its connection; only the COMMIT is left.
    await until(made, gate.others, 0);
    for (const [command, words] of [
      ["rollback", ALL],
      ["apply", YES],
      ["verify", []],
    ] as const) {
      const { err } = await ends(11, made.does(command, words));
      assert.match(err, /^ERROR N2I-E318 .*has not ended yet/m);
    }
    assert.match((await statusOf(made)).apply, /1 batch begun and not recorded as done/);
  } finally {
    await gate.end();
  }
  await made.connections.gone();
  const { out } = await ends(0, made.does("rollback", ALL));
  assert.match(
    out,
    new RegExp(`^Rollback: ${2 * MACHINES} rows removed, 0 already deleted, 0 left`),
  );
  assert.equal(await made.digest(), before);
});
