import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { engines } from "../lab/engines.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { plannedCloud } from "../nova/planned.ts";
import { dumpOf, foundIn, type Rehearsing, rehearsing, takenBy } from "./scene.ts";

function named(
  { folder }: Pick<Rehearsing, "folder">,
  name: string,
  { url }: Pick<TestDatabase, "url">,
): string {
  const path = join(folder, `${name}.url`);
  writeFileSync(path, url, { mode: 0o600 });
  return `file:${path}`;
}

for (const engine of engines())
  test(`on ${engine}, a database of the copy's name that this run did not make is refused, and stays`, async (t) => {
    const made = await rehearsing(engine, t);
    const { words } = made;
    const theirs = await takenBy(t, made);
    const before = await dumpOf(theirs);
    await refused([...words, "--yes", "-q"], 4, "N2I-E351", [/this run did not make it/, /--into/]);
    const undone = await runs(0, [...words, "--undo"]);
    assert.match(undone.out, /nothing is done/);
    assert.equal(await dumpOf(theirs), before);
    await theirs.db.destroy();
  });

for (const engine of engines())
  test(`on ${engine}, a database that was given empty is used and empty again, and no other is`, async (t) => {
    const made = await rehearsing(engine, t);
    const empty = await withDatabase(engine, t);
    const { words, dump, isCopied, found, reader } = made;
    if (engine === "sqlite") writeFileSync(empty.name, "");
    const into = ["--into", named(made, "empty", empty)];
    const before = await dump();
    await runs(0, [...words, ...into, "--yes", "-q"]);
    assert.equal(found().held, true);
    assert.deepEqual([await dumpOf(empty), await isCopied()], ["[]", false]);
    await empty.db.raw("CREATE TABLE theirs (id integer)");
    await refused([...words, ...into, "--yes", "-q"], 4, "N2I-E351", [/is not empty/]);
    assert.match(await dumpOf(empty), /theirs/);
    const itself = ["--into", reader[1] ?? ""];
    await refused([...words, ...itself, "--yes", "-q"], 4, "N2I-E351", [/is not empty/]);
    assert.equal(await dump(), before);
  });

for (const engine of engines())
  test(`on ${engine}, Nova's copy goes into a database that was given empty, and is gone from it`, async (t) => {
    const made = await plannedCloud(engine, t);
    const [one, two] = [await withDatabase(engine, t), await withDatabase(engine, t)];
    if (engine === "sqlite") for (const { name } of [one, two]) writeFileSync(name, "");
    const { at, reader, source, nova } = made;
    const words = ["rehearse", ...at, ...reader, ...source.slice(2, 4), "--yes", "-q"];
    const [into, novaInto] = [
      ["--into", named(made, "one", one)],
      ["--nova-into", named(made, "two", two)],
    ];
    const same = ["--nova-into", into[1] ?? ""];
    await refused([...words, ...into, ...same], 4, "N2I-E351", [/where the copy of --ironic-db/]);
    const before = [await dumpOf(nova), await dumpOf(made.ironic)];
    const { out } = await runs(0, [...words, ...into, ...novaInto, "--match", "Stage=apply*"]);
    assert.deepEqual(out.match(/apply again|verify|rollback|copy/g), ["apply again"], out);
    const { held, nova: rows } = foundIn(made);
    assert.deepEqual([held, rows.left, rows.rows > 10], [true, 0, true]);
    assert.deepEqual([await dumpOf(one), await dumpOf(two)], ["[]", "[]"]);
    assert.deepEqual([await dumpOf(nova), await dumpOf(made.ironic)], before);
    await two.db.raw("CREATE TABLE theirs (id integer)");
    await refused([...words, ...into, ...novaInto], 4, "N2I-E351", [/--nova-into .* is not empty/]);
    assert.match(await dumpOf(two), /theirs/);
    const without = ["rehearse", ...at, ...reader, "--without", "nova-db", ...novaInto];
    await refused(without, 64, "N2I-E100", [/--nova-into needs --nova-db/]);
  });

for (const engine of engines("mysql"))
  test("a copy of another kind of server is refused", async (t) => {
    const made = await rehearsing("sqlite", t);
    const other = await withDatabase(engine, t);
    const into = ["--into", named(made, "other", other)];
    await refused([...made.words, ...into, "--yes", "-q"], 4, "N2I-E352", [/is mysql/]);
  });

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, a login that may not make the copy gets the statement, which is enough`, async (t) => {
    const { at, reader, ironic, isCopied } = await rehearsing(engine, t);
    const words = ["rehearse", ...at, ...reader, "--yes", "-q"];
    const { err } = await refused(words, 12, "N2I-E350", [/--into/]);
    const [, statement = ""] = /says: (.*?;) Or/.exec(err.replaceAll("\n", " ")) ?? [];
    await ironic.db.raw(statement);
    await runs(0, words);
    assert.equal(await isCopied(), false);
  });

for (const engine of engines("postgresql"))
  test("PostgreSQL copies whole what nobody else uses, and by definitions what a service is connected to", async (t) => {
    const made = await rehearsing(engine, t);
    assert.ok(made.ironic.server);
    const { at, ironic, found, dump } = made;
    const words = ["rehearse", ...at, "--ironic-db", named(made, "owner", ironic), "--yes", "-q"];
    const before = await dump();
    await runs(0, words);
    assert.equal(found().copy, "made from its definitions, with its rows");
    await ironic.db.destroy();
    await runs(0, words);
    assert.equal(found().copy, "copied whole, as a template");
    assert.equal(found().held, true);
    const db = connect({ ...made.ironic.server, database: ironic.name });
    t.after(() => db.destroy());
    assert.equal(await dumpOf({ db, engine: "postgresql" }), before);
  });
