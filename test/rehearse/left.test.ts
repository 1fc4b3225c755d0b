import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { killedAt, refused, runs } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { dumpOf, type Rehearsing, rehearsing } from "./scene.ts";

const REMOVED = /Removed .*, which an earlier/;

const killed = (words: readonly string[], point: string) =>
  killedAt(`${point}:1`, [...words, "--yes", "-q"]);

function addressIn({ folder }: Rehearsing, name: string, url: string): string {
  const path = join(folder, `${name}.url`);
  writeFileSync(path, url, { mode: 0o600 });
  return `file:${path}`;
}

/** What is beside a file by a name that begins as its own does, and what of it is not empty. */
function filesAt({ name }: TestDatabase): readonly string[] {
  const folder = dirname(name);
  return readdirSync(folder).filter(
    (one) => one.startsWith(basename(name)) && statSync(join(folder, one)).size > 0,
  );
}

for (const engine of engines("mysql"))
  test("a server that has a database of the same name, and is another one, takes no copy away", async (t) => {
    const made = await rehearsing(engine, t);
    const other = await withDatabase("postgresql", t);
    assert.ok(other.server);
    const { server } = other;
    const { at, words, ironic, isCopied, entries } = made;
    await killed(words, "commit.after");
    await server.newDatabase(ironic.name);
    t.after(() => server.dropDatabase(ironic.name));
    const there = addressIn(made, "other", server.url(ironic.name));
    const { err } = await refused(
      ["rehearse", ...at, "--ironic-db", there, "--undo"],
      4,
      "N2I-E351",
      [/made its copy \S+ at/],
    );
    assert.match(err, /Give --ironic-db as for that rehearsal/);
    assert.equal(
      entries().some((entry) => entry.do === "gone"),
      false,
    );
    assert.match((await runs(0, [...words, "--undo"])).out, REMOVED);
    assert.equal(await isCopied(), false);
  });

for (const engine of engines())
  test(`on ${engine}, tables that somebody made beside a copy stay, and are named`, async (t) => {
    const made = await rehearsing(engine, t);
    const empty = await withDatabase(engine, t);
    if (engine === "sqlite") writeFileSync(empty.name, "");
    const { words } = made;
    const into = ["--into", addressIn(made, "empty", empty.url)];
    await killed([...words, ...into], "commit.after");
    if (engine === "sqlite") await empty.db.destroy();
    if (engine === "sqlite") empty.db.initialize();
    await empty.db.raw("CREATE TABLE theirs (id integer)");
    await empty.db.raw("INSERT INTO theirs VALUES (1)");
    const { out, err } = await runs(0, [...words, "--undo"]);
    assert.match(out, REMOVED);
    assert.match(err, /still holds what this run did not make: theirs\./);
    assert.equal(await dumpOf(empty), JSON.stringify([["theirs", ['{"id":1}']]]));
    if (engine === "sqlite") assert.doesNotMatch(readFileSync(empty.name, "latin1"), /driver_info/);
  });

testOnce(
  "a file that was given is read by nobody else, and is empty again whatever the rehearsal is killed at",
  async (t) => {
    const made = await rehearsing("sqlite", t);
    const empty = await withDatabase("sqlite", t);
    await empty.db.destroy();
    const { words } = made;
    const into = ["--into", addressIn(made, "empty", empty.url)];
    writeFileSync(empty.name, "");
    for (const point of ["resource.after", "copy.filled"]) {
      chmodSync(empty.name, 0o644);
      await killed([...words, ...into], point);
      for (const file of filesAt(empty))
        assert.equal(statSync(join(dirname(empty.name), file)).mode & 0o077, 0, `${point} ${file}`);
      const { out } = await runs(0, [...words, "--undo"]);
      assert.match(out, point === "resource.after" ? /nothing is done/ : REMOVED, point);
      assert.deepEqual([filesAt(empty), statSync(empty.name).size], [[], 0], point);
    }
    await runs(0, [...words, ...into, "--yes", "-q"]);
    assert.equal(made.found().held, true);
  },
);

for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, a rehearsal that was killed first leaves the copy of another run`, async (t) => {
    const { words, ironic, copy, isCopied } = await rehearsing(engine, t);
    await killed(words, "resource.after");
    // As another run has it, before it is marked.
    if (engine === "sqlite") writeFileSync(copy, readFileSync(ironic.name));
    else await ironic.server?.newDatabase(copy);
    assert.match((await runs(0, [...words, "--undo"])).out, /nothing is done/);
    assert.equal(await isCopied(), true);
    await refused([...words, "--yes", "-q"], 4, "N2I-E351", [/did not make it/]);
  });

for (const engine of engines("postgresql"))
  test("on postgresql, what was made under no name yet goes", async (t) => {
    const { words, ironic, entries, isCopied } = await rehearsing(engine, t);
    const { server } = ironic;
    await killed(words, "copy.created");
    const { mark = "" } = entries().find((entry) => entry.do === "resource") ?? {};
    assert.equal(await server?.hasDatabase(`nova2ironic_rehearsal_${mark}`), true);
    assert.match((await runs(0, [...words, "--undo"])).out, REMOVED);
    assert.equal(await server?.hasDatabase(`nova2ironic_rehearsal_${mark}`), false);
    assert.equal(await isCopied(), false);
  });
