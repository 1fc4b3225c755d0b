import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Timers } from "../../src/lib/ipmi/index.ts";
import { runHere } from "../support/in-process.ts";
import { runs } from "./cli.ts";
import { type Whole, whole } from "./whole.ts";

/** Sockets of this process. */
function sockets(): readonly Socket[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
  return handles.call(process).filter((one) => one instanceof Socket);
}

/** Ends the connections of the user who reads nova, on both sides, and returns how many they were. */
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
  const open = sockets();
  for (const { id } of rows)
    await db.raw(engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`);
  while (open.filter(({ destroyed }) => destroyed).length < rows.length) await turn();
  return rows.length;
}

/** Milliseconds for which heartbeats are watched. */
const WATCHED = 6000;

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that ends connections which wait ends no check`, async (t) => {
    const made = await whole(engine, t);
    await runs(0, [...made.extract, "-q"]);
    const words = made.check.with(made.check.indexOf("0"), String(WATCHED / 1000));
    let ended = 0;
    const clock: Timers = {
      now: () => performance.now(),
      date: () => new Date(),
      after(delay, run) {
        if (delay < WATCHED) {
          const timer = setTimeout(run, delay);
          return () => clearTimeout(timer);
        }
        // The command waits for heartbeats: its connections end, and the wait is over.
        void cut(made).then((count) => {
          ended += count;
          run();
        });
        return () => {};
      },
    };
    const { status, out, err } = await runHere(words, {}, { clock });
    assert.ok(ended > 0, "it waited for its heartbeats by a connection");
    assert.ok([1, 2].includes(status), `${out}${err}`);
    assert.match(out, /Check: nova-compute stopped/);
    assert.doesNotMatch(err, /ERROR/);
  });
