import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { killedAt, refused, run, runs } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { digestOf } from "./rows.ts";
import { finishedRun } from "./scene.ts";

const OURS = ["bm_interfaces", "bm_nodes", "migrate_version"];

const nameOf = ({ engine, name }: TestDatabase): string =>
  engine === "sqlite" ? basename(name) : name;

async function there({ db }: TestDatabase): Promise<readonly string[]> {
  const found = await Promise.all(OURS.map((name) => db.schema.hasTable(name)));
  return OURS.filter((_, at) => found[at]);
}

for (const engine of engines())
  test(`on ${engine}, nova_bm is archived, dropped with the database's name, and restored`, async (t) => {
    const made = await finishedRun(engine, t);
    const { words, owner, bm, at, ironic, writer, source, entries } = made;
    await bm.db.schema.createTable("racks", (table) => void table.text("note"));
    const rows = await bm.db("bm_nodes").orderBy("id");
    const archived = await runs(0, [...words, "--grace", "0", "--yes"]);
    assert.match(archived.err, /^Next: nova2ironic retire .*--drop {2}# in 0 days/m);
    const next = await runs(0, ["status", ...at]);
    assert.match(next.err, /^Next: nova2ironic retire --run \S+ --drop {2}# from /m);
    await refused([...owner, "--drop", "--yes", "-q"], 4, "N2I-E303", [/--yes-drop/]);
    const other = [...owner, "--drop", "--yes-drop", "nova", "-q"];
    await refused(other, 4, "N2I-E303", [/the database is/]);
    assert.deepEqual(await there(bm), OURS);
    const loaded = JSON.stringify(await ironic.db("nodes"));

    const drop = [...owner, "--drop", "--yes-drop", nameOf(bm)];
    const dropped = await runs(0, drop);
    assert.match(
      dropped.out,
      /^Dropped bm_interfaces, bm_nodes, migrate_version of .*; left, .* racks\.$/m,
    );
    assert.deepEqual(await there(bm), []);
    assert.equal(await bm.db.schema.hasTable("racks"), true);
    assert.deepEqual(
      entries().flatMap((entry) => ("table" in entry ? [`${entry.do} ${entry.table}`] : [])),
      OURS.flatMap((table) => [`drop ${table}`, `dropped ${table}`]),
    );
    assert.match((await runs(0, drop)).out, /dropped already; its archive is .*nova_bm\.jsonl/);
    const gone = ["--after-finish", "--yes", "-q"];
    const why = [/nova_bm\.jsonl/, /retire --restore/];
    await refused(["rollback", ...at, ...writer, "--all", ...gone], 4, "N2I-E341", why);
    await refused(["apply", ...at, ...writer, ...gone], 4, "N2I-E341", why);
    for (const command of ["finish", "handover"]) {
      const undo = [command, ...at, ...writer, "--undo", "--yes", "-q"];
      await refused(undo, 4, "N2I-E341", [...why, /a rollback that is refused/]);
    }
    await refused(["extract", ...at, ...source, "-q"], 4, "N2I-E341", why);
    await refused([...words, "--yes", "-q"], 4, "N2I-E341");
    const state = await runs(0, ["status", ...at]);
    assert.match(state.out, /done: nova_bm is dropped; nova_bm archived 20/);
    assert.match(state.err, /^Next: nothing; this run is done$/m);
    assert.equal(JSON.stringify(await ironic.db("nodes")), loaded);

    // Whoever must go back after all puts it where it can be read again.
    const empty = await withDatabase(engine, t);
    if (engine === "sqlite") writeFileSync(empty.name, "");
    const url = join(made.folder, "empty.url");
    writeFileSync(url, empty.url, { mode: 0o600 });
    await runs(0, ["retire", ...at, "--restore", `file:${url}`, "--yes"]);
    assert.deepEqual(await empty.db("bm_nodes").orderBy("id"), rows);
    await runs(0, ["rollback", ...at, ...writer, "--all", ...gone]);
    assert.equal((await ironic.db("nodes")).length, 0);
  });

testOnce("a drop waits for its time, and for a nova_bm that is as archived", async (t) => {
  const { words, owner, bm, at, writer } = await finishedRun("sqlite", t);
  const drop = [...owner, "--drop", "--yes-drop", nameOf(bm), "-q"];
  // It comes days after the window.
  for (const word of ["open", "close"]) await runs(0, ["window", word, ...at, "-q"]);
  await refused(drop, 4, "N2I-E340", [/there is no archive yet/]);
  await runs(0, [...words, "--yes", "-q"]);
  await refused(drop, 4, "N2I-E340", [/7 days from 20/]);
  await runs(0, [...words, "--grace", "0", "--yes", "-q"]);
  await bm.db("bm_nodes").where({ id: 1 }).update({ cpus: 99 });
  await bm.db("bm_interfaces").where({ id: 2 }).delete();
  await bm.db("bm_nodes").insert({ id: 70 });
  const named =
    /bm_interfaces\.id=2 is gone, bm_nodes\.id=1 was changed, bm_nodes\.id=70 was added/;
  await refused(drop, 4, "N2I-E340", [named]);
  const shown = await runs(0, [...owner, "--drop", "--plan", "-f", "json"]);
  const holds = (JSON.parse(shown.out) as { Condition: string; Holds: string }[]).map(
    (row) => `${row.Condition}: ${row.Holds}`,
  );
  assert.ok(holds.includes("nova_bm is as at its archive: no"), shown.out);
  assert.ok(holds.includes("the grace period is over: yes"), shown.out);
  await bm.db.schema.createTable("nodes", (table) => void table.integer("id"));
  await refused(drop, 4, "N2I-E340", [/table nodes was added/, /another service lives there/]);
  await bm.db.schema.dropTable("nodes");
  // A run that goes on makes the archive a thing of the past.
  const outside = ["--no-window", "a test"];
  await runs(0, ["rollback", ...at, ...writer, "--all", "--after-finish", ...outside, "--yes"]);
  await refused(drop, 4, "N2I-E340", [/finish has not ended it/, /went on since the archive/]);
});

testOnce("an archive that was edited or replaced lets nothing be dropped", async (t) => {
  const { words, owner, bm, run: folder } = await finishedRun("sqlite", t);
  await runs(0, [...words, "--grace", "0", "--yes", "-q"]);
  writeFileSync(join(folder, "nova_bm.jsonl"), "x", { flag: "a" });
  const drop = [...owner, "--drop", "--yes-drop", nameOf(bm), "-q"];
  const ran = await run(drop);
  assert.match(ran.err, /^ERROR N2I-E11[12] /m);
  assert.deepEqual(await there(bm), OURS);
});

testOnce("a drop that is killed behind a table goes on where it was", async (t) => {
  const { words, owner, bm, at, writer } = await finishedRun("sqlite", t);
  await runs(0, [...words, "--grace", "0", "--yes", "-q"]);
  const drop = [...owner, "--drop", "--yes-drop", nameOf(bm), "-q"];
  await killedAt("dropped.before:2", drop);
  assert.ok((await there(bm)).includes("migrate_version"));
  assert.match(
    (await runs(0, ["status", ...at])).out,
    /1 tables dropped, not all yet|2 tables dropped, not all yet/,
  );
  const back = ["rollback", ...at, ...writer, "--all", "--after-finish", "--yes", "-q"];
  await refused(back, 4, "N2I-E341");
  await runs(0, drop);
  assert.deepEqual(await there(bm), []);
});

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, whatever retire is killed at, the same command ends it`, async (t) => {
    const { words, owner, bm, entries } = await finishedRun(engine, t);
    await bm.db.schema.createTable("racks", (table) => void table.text("note"));
    const before = await digestOf(bm);
    const archive = [...words, "--grace", "0", "--yes", "-q"];
    const drop = [...owner, "--drop", "--yes-drop", nameOf(bm), "-q"];
    await killedAt("archive.before:1", archive);
    await refused(drop, 4, "N2I-E340", [/there is no archive yet/]);
    await killedAt("archive.after:1", archive);
    await runs(0, archive);
    assert.equal(await digestOf(bm), before);
    await killedAt("drop.before:1", drop);
    assert.equal(await digestOf(bm), before);
    await killedAt("drop.after:1", drop);
    assert.equal(await digestOf(bm), before);
    await killedAt("dropped.before:1", drop);
    await killedAt("dropped.after:1", drop);
    assert.ok((await there(bm)).includes("migrate_version"));
    await runs(0, drop);
    assert.deepEqual(await there(bm), []);
    const dropped = entries().flatMap((entry) => (entry.do === "dropped" ? [entry.table] : []));
    assert.deepEqual(dropped, OURS);
  });
