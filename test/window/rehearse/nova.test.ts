import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { run, runs } from "../../hostile/cli.ts";
import type { Deployment } from "../../hostile/deployment.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { laterCloud } from "../../migrate/nova/later.ts";
import { plannedCloud } from "../../migrate/nova/planned.ts";
import { dumpOf, foundIn, restored } from "./scene.ts";

const STAGES = ["apply", "verify", "rollback", "apply again", "verify again"];

/** The command with copies of Ironic's and Nova's databases. */
async function wordsOf(t: TestContext, made: Deployment): Promise<readonly string[]> {
  const { at, ironic, nova } = made;
  return [
    ...["rehearse", ...at, "--ironic-db", (await restored(t, made, ironic)).url],
    ...["--nova-db", (await restored(t, made, nova)).url, "--yes"],
  ];
}

for (const engine of engines())
  test(`on ${engine}, a plan's rows of nova are changed and rolled back on a copy, and nova stays as it was`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { nova, ironic } = made;
    const before = [await dumpOf(nova), await dumpOf(ironic)];
    const { err, out } = await runs(0, [...(await wordsOf(t, made)), "-f", "json"]);
    const { held, nova: rows, stages } = foundIn(made);
    assert.equal(held, true, err);
    assert.ok(rows.rows > 10, JSON.stringify(rows));
    assert.deepEqual([rows.left, rows.why], [0, null]);
    assert.match(err, new RegExp(`^Nova: ${rows.rows} rows were changed on a copy`, "m"));
    assert.match(err, /^Rollback: every row of the copies is as it was before\.$/m);
    const written = stages.filter(({ stage }) => /^(apply|rollback)/.test(stage));
    assert.equal(new Set(written.map(({ rows: count }) => count)).size, 1, out);
    assert.deepEqual(
      stages.map(({ stage, result }) => [stage, result]),
      STAGES.map((stage) => [stage, "done"]),
    );
    assert.deepEqual([await dumpOf(nova), await dumpOf(ironic)], before);
  });

testOnce(
  "a nova-compute that reported shortly before the backup is no fault of the plan",
  async (t) => {
    const made = await laterCloud("sqlite", t, ["--flavor-images", "delete"]);
    const [ironic, nova, api] = [
      await restored(t, made, made.ironic),
      await restored(t, made, made.nova),
      await restored(t, made, made.api),
    ];
    const then = new Date(Date.now() - 90_000).toISOString().slice(0, 19).replace("T", " ");
    await nova.copy.db("services").update({ last_seen_up: then });
    const copies = ["--ironic-db", ironic.url, "--nova-db", nova.url, "--nova-api-db", api.url];
    await runs(0, ["rehearse", ...made.at, ...copies, "--yes"]);
    assert.deepEqual([foundIn(made).held, foundIn(made).nova.left], [true, 0]);
  },
);

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, extra specs of nova_api are rehearsed on a copy of their own`, async (t) => {
    const made = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const databases = [made.nova, made.api, made.ironic];
    const before = await Promise.all(databases.map(dumpOf));
    await runs(3, await wordsOf(t, made));
    const why = "--nova-api-db is not given";
    assert.deepEqual(foundIn(made).nova, { rows: 12, left: 12, why });
    const api = ["--nova-api-db", (await restored(t, made, made.api)).url];
    const { err } = await runs(0, [...(await wordsOf(t, made)), ...api]);
    assert.deepEqual(foundIn(made).nova, { rows: 12, left: 0, why: null }, err);
    assert.deepEqual(await Promise.all(databases.map(dumpOf)), before);
  });

testOnce(
  "a failure of apply after Nova's flavors is reported as it is, not as a half-done apply",
  async (t) => {
    const made = await plannedCloud("sqlite", t);
    await made.ironic.db.raw(
      "CREATE TRIGGER theirs BEFORE INSERT ON nodes BEGIN SELECT RAISE(ABORT, 'theirs'); END",
    );
    const { status, err } = await run(await wordsOf(t, made));
    assert.notEqual(status, 0);
    assert.match(err, /^ERROR N2I-E2\d\d /m);
    assert.doesNotMatch(err, /N2I-E301|are changed/);
  },
);
