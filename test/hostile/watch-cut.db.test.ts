import assert from "node:assert/strict";
import { test } from "node:test";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { run, runs } from "./cli.ts";
import { type Whole, whole } from "./whole.ts";

/** Ends the connections of the user who reads nova, and returns how many they were. */
async function cut({ engine, nova: { db }, users }: Whole): Promise<number> {
  const answer: unknown = await db.raw(
    engine === "mysql"
      ? "SELECT id FROM information_schema.processlist WHERE user = ?"
      : "SELECT pid AS id FROM pg_stat_activity WHERE usename = ?",
    [users.nova ?? ""],
  );
  // knex gives the rows first on MySQL and as `rows` on PostgreSQL.
  const rows = (Array.isArray(answer) ? answer[0] : (answer as { rows: unknown }).rows) as {
    id: number;
  }[];
  for (const { id } of rows)
    await db.raw(engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`);
  return rows.length;
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that ends connections which wait ends no check`, async (t) => {
    const made = await whole(engine, t);
    await runs(0, [...made.extract, "-q"]);
    const words = made.check.with(made.check.indexOf("0"), "6");
    let ended = 0;
    const { status, out, err } = await whileItWaits(
      async () => {
        ended += await cut(made);
      },
      () => run(words),
    );
    assert.ok(ended > 0, "it waited for its heartbeats by a connection");
    assert.ok([1, 2].includes(status), `${out}${err}`);
    assert.match(out, /Check: nova-compute stopped/);
    assert.doesNotMatch(err, /ERROR/);
  });
