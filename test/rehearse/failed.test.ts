import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Rehearsal } from "../../src/model/rehearsal.ts";
import { rehearsalText } from "../../src/report/rehearsal.ts";
import { rehearsedText } from "../../src/stages/rehearsal-file.ts";
import { refused, runs, start } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { rehearsing } from "./scene.ts";

for (const engine of engines("postgresql"))
  test("a copy that somebody looks at stays, and the result is kept", async (t) => {
    const made = await rehearsing(engine, t);
    assert.ok(made.ironic.server);
    const { words, found, isCopied, ironic, copy } = made;
    const env = { NOVA2IRONIC_FAILPOINT: "commit.after:1:pause" };
    const going = start([...words, "--yes"], { env });
    await going.said("failpoint commit.after");
    const db = connect({ ...made.ironic.server, database: copy });
    await db.raw("SELECT 1");
    going.signal("SIGUSR2");
    const { status, err, out } = await going.ended;
    await db.destroy();
    assert.match(
      err,
      /The copy stays \(\S+\): N2I-E207 .*55006.*Remove what is left with: nova2ironic rehearse .*--undo/,
    );
    assert.match(out, /verify again/);
    assert.deepEqual([status, found().held, found().copy_left], [3, true, true], err);
    assert.equal(await isCopied(), true, ironic.name);
    await runs(0, [...words, "--undo"]);
    assert.equal(await isCopied(), false);
  });

for (const engine of engines("mysql"))
  test("a copy that goes amid of the way is a failure, and no refusal of apply", async (t) => {
    const made = await rehearsing(engine, t);
    assert.ok(made.ironic.server);
    const { words, run, copy } = made;
    const env = { NOVA2IRONIC_FAILPOINT: "commit.before:1:pause" };
    const going = start([...words, "--yes"], { env });
    await going.said("failpoint commit.before");
    const db = connect({ ...made.ironic.server, database: copy });
    t.after(() => db.destroy());
    const [sessions] = (await db.raw(
      "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> connection_id()",
      [copy],
    )) as [{ id: number }[]];
    for (const { id } of sessions) await db.raw(`KILL ${id}`);
    going.signal("SIGUSR2");
    const { status, err } = await going.ended;
    assert.doesNotMatch(err, /would be refused/);
    assert.ok(status !== 0 && status !== 2 && status !== 4, `${status} ${err}`);
    assert.equal(existsSync(join(run, "rehearsal.json")), false);
  });

for (const engine of engines("postgresql"))
  test("a CREATE DATABASE that still runs is waited for", async (t) => {
    const made = await rehearsing(engine, t);
    assert.ok(made.ironic.server);
    const { words, entries, isCopied, ironic } = made;
    const { server } = made.ironic;
    const db = connect({ ...server, database: ironic.name });
    t.after(() => db.destroy());
    const holding = await db.transaction();
    await holding.raw("LOCK TABLE pg_catalog.pg_database IN SHARE MODE");
    const { err } = await start([...words, "--yes", "--db-timeout", "2"]).ended;
    assert.match(err, /stays \(\S+\): N2I-E351 the server is still making/);
    assert.match(err, /ERROR N2I-E216/);
    await refused([...words, "--undo"], 4, "N2I-E351", [/still making/]);
    assert.equal(
      entries().some((entry) => entry.do === "gone"),
      false,
    );
    await holding.rollback();
    const { mark = "" } = entries().find((entry) => entry.do === "resource") ?? {};
    const name = `nova2ironic_rehearsal_${mark}`;
    while (!(await server.hasDatabase(name))) await new Promise((r) => setTimeout(r, 50));
    await runs(0, [...words, "--undo"]);
    assert.deepEqual([await server.hasDatabase(name), await isCopied()], [false, false]);
  });

const HELD: Rehearsal = {
  ...{ format: "nova2ironic/rehearsal@1", tool: "1", at: "2026-11-23T00:00:00Z", by: "me" },
  ...{
    plan: "p",
    target: "postgresql://ironic",
    copy: "whole",
    without: null,
    refusals: [],
    nova: { rows: 0, left: 0, why: null },
  },
  stages: ["apply", "verify", "rollback"].map((stage) => ({
    ...{ stage, seconds: 3, machines: 1, rows: 1, rate: null, result: "done" },
  })),
  ...{ as_before: true, loaded: null, held: true, slow: null, copy_left: false },
};

testOnce("seconds of a rollback are promised only where the target's own takes as long", () => {
  const quick = rehearsalText(HELD).join("\n");
  assert.match(quick, /Expect .*rollback 3 s\./);
  assert.match(quick, /^Rights on the target are not rehearsed; check looks at them\.$/m);
  const slow = { ...HELD, slow: "Taking back 1 nodes will keep the server busy." };
  const text = rehearsalText(slow).join("\n");
  assert.match(text, /Expect .*: apply 3 s, verify 3 s\.\nTaking back 1 nodes will/);
  assert.doesNotMatch(`${text}${rehearsedText(slow, "p")}`, /rollback 3 s/);
});

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, views and triggers that are not copied are counted`, async (t) => {
    const { words, ironic, found } = await rehearsing(engine, t);
    await ironic.db.raw("CREATE VIEW theirs AS SELECT uuid FROM nodes");
    const { err } = await runs(0, [...words, "--yes"]);
    // Triggers are seen by whoever may make them; the schema of the test has some on PostgreSQL.
    const without = engine === "mysql" ? /^1 view and triggers, if there are any/ : /^1 view\b/;
    assert.match(err, /^Not copied, so not rehearsed: 1 view\b/m);
    assert.match(found().without ?? "", without);
  });
