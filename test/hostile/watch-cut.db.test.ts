import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runs, start } from "./cli.ts";
import { type Whole, whole } from "./whole.ts";

/** Connections of the user who reads nova that wait for a second already. */
async function waiting({ engine, nova: { db }, users }: Whole): Promise<readonly number[]> {
  const answer: unknown = await db.raw(
    engine === "mysql"
      ? "SELECT id FROM information_schema.processlist WHERE user = ? AND command = 'Sleep' AND time >= 1"
      : "SELECT pid AS id FROM pg_stat_activity WHERE usename = ? AND state = 'idle' AND state_change < now() - interval '1 second'",
    [users.nova ?? ""],
  );
  // knex gives the rows first on MySQL and as `rows` on PostgreSQL.
  const rows = (Array.isArray(answer) ? answer[0] : (answer as { rows: unknown }).rows) as {
    id: number;
  }[];
  return rows.map(({ id }) => id);
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that ends connections which wait ends no check`, async (t) => {
    const made = await whole(engine, t);
    await runs(0, [...made.extract, "-q"]);
    const words = made.check.with(made.check.indexOf("0"), "6");
    const checking = start(words);
    let over = false;
    void checking.ended.then(() => {
      over = true;
    });
    let ended: readonly number[] = [];
    for (; ended.length === 0 && !over; await sleep(50)) ended = await waiting(made);
    assert.ok(!over, "it waited for its heartbeats by a connection");
    for (const id of ended)
      await made.nova.db.raw(
        engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`,
      );
    const { status, out, err } = await checking.ended;
    assert.ok([1, 2].includes(status), `${out}${err}`);
    assert.match(out, /Check: nova-compute stopped/);
    assert.doesNotMatch(err, /ERROR/);
  });
