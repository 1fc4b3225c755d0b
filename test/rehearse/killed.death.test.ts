import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/model/journal.ts";
import { refused, runs, start } from "../hostile/cli.ts";
import { needs } from "../lab/index.ts";
import { dumpOf, type Rehearsing, rehearsing, takenBy } from "./scene.ts";

/** Whether a copy is there by then, for whoever looks. */
const POINTS = [
  ["resource.after", false],
  ["copy.made", true],
  ["copy.filled", true],
  ["commit.after", true],
  ["gone.before", false],
] as const;

test("whatever a rehearsal is killed at, the target is as it was, and the copy goes", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { words, dump, isCopied, entries, found } = made;
  const before = await dump();
  for (const [at, [point, isThere]] of POINTS.entries()) {
    await killedAt(made, point);
    assert.equal(await dump(), before, point);
    assert.equal(await isCopied(), isThere, point);
    const again = at % 2 === 0 ? ["--undo"] : ["--yes"];
    const { out } = await runs(0, [...words, ...again]);
    if (isThere) assert.match(out, REMOVED, point);
    assert.equal(await isCopied(), false, point);
    const { mark } = entries().findLast((entry) => entry.do === "resource") ?? {};
    assert.ok(entries().some((entry) => entry.do === "gone" && entry.mark === mark));
  }
  await runs(0, [...words, "--yes", "-q"]);
  assert.equal(found().held, true);
  assert.equal(await dump(), before);
});

const REMOVED = /Removed .*_nova2ironic_rehearsal, which an earlier/;

async function killedAt({ words }: Rehearsing, point: string): Promise<void> {
  const env = { NOVA2IRONIC_FAILPOINT: `${point}:1:kill` };
  const killed = await start([...words, "--yes"], { env }).ended;
  assert.equal(killed.status, 128, `${point}\n${killed.err}`);
}

test("a copy that a kill left is told by status, and goes after apply too", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { words, at, source, writer, isCopied, copy } = made;
  await killedAt(made, "commit.after");
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const { out } = await runs(0, ["status", ...at]);
  assert.ok(out.includes(copy), out);
  assert.match(out, /remove it: nova2ironic rehearse --run \S+ (--ironic-db \S+ )?--undo/);
  const retire = ["retire", ...at, ...source.slice(0, 2), ...writer, "--plan"];
  const note =
    /^Of a rehearsal the copy \S+ is there still, .* remove it: nova2ironic rehearse .*--undo/m;
  assert.match((await runs(0, retire)).err, note);
  assert.match((await runs(0, [...words, "--undo"])).out, REMOVED);
  assert.equal(await isCopied(), false);
  assert.doesNotMatch((await runs(0, retire)).err, /rehearsal/);
  assert.doesNotMatch((await runs(0, ["status", ...at])).out, /remove it/);
});

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, what a kill left goes, and what somebody put in its place stays`, async (t) => {
    const made = await rehearsing(engine, t);
    const { words, dump, isCopied, found, copy } = made;
    const server = await needs(engine);
    const before = await dump();
    await killedAt(made, "copy.made");
    assert.equal(await isCopied(), true);
    assert.match((await runs(0, [...words, "--undo"])).out, REMOVED);
    assert.equal(await isCopied(), false);
    await killedAt(made, "commit.after");
    await server.dropDatabase(copy);
    const theirs = await takenBy(t, made);
    for (const asked of ["--undo", "--yes"])
      await refused([...words, asked, "-q"], 4, "N2I-E351", [/did not make it/]);
    assert.match(await dumpOf(theirs), /theirs/);
    await theirs.db.destroy();
    await server.dropDatabase(copy);
    await runs(0, [...words, "--yes", "-q"]);
    assert.equal(found().held, true);
    assert.equal(await dump(), before);
  });

/** Points of a copy's making, and whether a database is there by then. */
const DEATHS = [
  ["resource.after", false],
  // Between the database and the table that marks it: MariaDB wrote the mark with the database.
  ["copy.created", true],
  ["made.after", true],
] as const;

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a copy goes wherever its rehearsal was killed, and an empty database of somebody's never`, async (t) => {
    const made = await rehearsing(engine, t);
    const { words, isCopied, copy, entries } = made;
    const server = await needs(engine);
    for (const [point, isThere] of DEATHS) {
      await killedAt(made, point);
      // Until it has its name, PostgreSQL's has one of its own.
      const { mark = "" } = entries().find(isResource) ?? {};
      const first = `nova2ironic_rehearsal_${mark}`;
      assert.equal((await isCopied()) || (await server.hasDatabase(first)), isThere, point);
      await runs(0, [...words, "--undo"]);
      assert.deepEqual([await isCopied(), await server.hasDatabase(first)], [false, false], point);
    }
    // Its name is free, or was freed: what somebody makes there, even if it is empty, is theirs.
    for (const point of ["resource.after", "copy.created", "made.after"]) {
      await killedAt(made, point);
      await server.dropDatabase(copy);
      await server.newDatabase(copy);
      const { status, err } = await start([...words, "--yes", "-q"]).ended;
      assert.deepEqual([status, /N2I-E351/.test(err)], [4, true], err);
      const undone = await start([...words, "--undo"]).ended;
      if (engine === "mysql" && point !== "made.after")
        assert.match(undone.err, /bears no mark of this run.*DROP DATABASE/s);
      assert.equal(await isCopied(), true, `${point} ${undone.out}${undone.err}`);
      await server.dropDatabase(copy);
      await runs(0, [...words, "--undo"]);
    }
  });

function isResource(entry: Entry): entry is Extract<Entry, { readonly do: "resource" }> {
  return entry.do === "resource";
}

for (const [engine, point, signal, status] of [
  ["mysql", "copy.made", "SIGINT", 130],
  ["sqlite", "commit.before", "SIGHUP", 143],
] as const)
  test(`on ${engine}, a rehearsal that is asked to stop at ${point} removes its copy first`, async (t) => {
    const made = await rehearsing(engine, t);
    const { words, dump, isCopied } = made;
    const before = await dump();
    const env = { NOVA2IRONIC_FAILPOINT: `${point}:1:pause` };
    const stopped = start([...words, "--yes"], { env });
    await stopped.said(`failpoint ${point}`);
    stopped.signal(signal);
    await stopped.said("Stopping after this batch");
    stopped.signal("SIGUSR2");
    const ended = await stopped.ended;
    assert.equal(ended.status, status, ended.err);
    assert.match(ended.err, /Stopped; the copy is removed, and Ironic is as it was/);
    assert.equal(await isCopied(), false, ended.err);
    assert.equal(await dump(), before);
  });
