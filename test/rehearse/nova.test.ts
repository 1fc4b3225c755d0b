import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { ends, run, runs, start } from "../hostile/cli.ts";
import type { Deployment } from "../hostile/deployment.ts";
import { engines, testOnce } from "../lab/engines.ts";
import type { TestDatabase } from "../lab/index.ts";
import { laterCloud } from "../nova/later.ts";
import { plannedCloud } from "../nova/planned.ts";
import { copyOf, dumpOf, foundIn, letCopy } from "./scene.ts";

/** Lets who reads a database make its copy, which goes with the test. */
async function mayCopy(
  t: TestContext,
  database: TestDatabase,
  user: string | undefined,
): Promise<void> {
  const { server } = database;
  await letCopy(database, user ?? "");
  if (server !== null) t.after(() => server.dropDatabase(copyOf(database.name)));
}

async function isCopied({ server, name }: TestDatabase): Promise<boolean> {
  return server === null ? existsSync(copyOf(name)) : server.hasDatabase(copyOf(name));
}

function wordsOf({ at, reader, source }: Deployment): readonly string[] {
  return ["rehearse", ...at, ...reader, ...source.slice(2, 4), "--yes"];
}

const WAY = ["apply", "verify", "rollback", "apply again", "verify again"];

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a plan's rows of nova go there and back on a copy, and nova stays as it was`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { nova, ironic, users } = made;
    const words = wordsOf(made);
    const before = [await dumpOf(nova), await dumpOf(ironic)];
    await mayCopy(t, ironic, users.reader);
    if (engine !== "sqlite") {
      const { err } = await runs(3, words);
      assert.match(err, /^The rehearsal held but for \d+ rows of Nova: /m);
      assert.match(err, /^No compute host was looked at\.$/m);
      const said = err.replaceAll("\n", " ");
      assert.match(said, /\d+ rows of Nova that the plan changes are not rehearsed: N2I-E350 /);
      assert.deepEqual([foundIn(made).held, await isCopied(nova)], [true, false]);
      const [, statement = ""] = /says: (.*?;) Or/.exec(said) ?? [];
      await nova.db.raw(statement);
    }
    await mayCopy(t, nova, users.nova);
    const { err, out } = await runs(0, [...words, "-f", "json"]);
    const { held, nova: rows, stages } = foundIn(made);
    assert.equal(held, true, err);
    assert.ok(rows.rows > 10, JSON.stringify(rows));
    assert.deepEqual([rows.left, rows.why], [0, null]);
    assert.match(
      err,
      new RegExp(`^Nova: ${rows.rows} rows were changed on a copy and taken back`, "m"),
    );
    assert.match(err, /^Rollback: every row of the copies is as it was before\.$/m);
    const written = stages.filter(({ stage }) => /^(apply|rollback)/.test(stage));
    assert.equal(new Set(written.map(({ rows: count }) => count)).size, 1, out);
    assert.deepEqual(
      stages.slice(1).map(({ stage, result }) => [stage, result]),
      WAY.map((stage) => [stage, "done"]),
    );
    assert.deepEqual([await dumpOf(nova), await dumpOf(ironic)], before);
    assert.deepEqual([await isCopied(nova), await isCopied(ironic)], [false, false]);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, extra specs of nova_api are rehearsed on a copy of their own`, async (t) => {
    const made = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const { nova, api, ironic, users } = made;
    const databases = [nova, api, ironic];
    const before = await Promise.all(databases.map(dumpOf));
    await mayCopy(t, ironic, users.reader);
    await mayCopy(t, nova, users.nova);
    const words = [...wordsOf(made), ...made.apiReader];
    if (engine !== "sqlite") {
      await runs(3, words);
      const { why, ...counts } = foundIn(made).nova;
      assert.deepEqual(counts, { rows: 12, left: 12 });
      assert.match(why ?? "", /^N2I-E350 .* may not make .*says: (GRANT|ALTER)/);
    }
    await mayCopy(t, api, made.apiUser);
    const { err } = await runs(0, words);
    assert.deepEqual(foundIn(made).nova, { rows: 12, left: 0, why: null }, err);
    assert.deepEqual(await Promise.all(databases.map(dumpOf)), before);
    assert.deepEqual(await Promise.all(databases.map(isCopied)), [false, false, false]);
  });

testOnce(
  "a rehearsal without Nova's databases says so wherever it is read, and ends as done in part",
  async (t) => {
    const made = await plannedCloud("sqlite", t);
    const { at, reader } = made;
    const { err } = await runs(3, ["rehearse", ...at, ...reader, "--without", "nova-db", "--yes"]);
    const { rows } = foundIn(made).nova;
    assert.ok(rows > 10, err);
    assert.match(err, new RegExp(`^The rehearsal held but for ${rows} rows of Nova: `, "m"));
    const status = await runs(0, ["status", ...at]);
    assert.match(plain(status.out), new RegExp(`held but for ${rows} rows of Nova: apply`));
    const report = await runs(0, ["report", ...at, "--format", "md"]);
    assert.match(report.out, new RegExp(`held but for ${rows} rows of Nova: apply`));
    const next = await runs(0, ["next", ...at]);
    assert.match(plain(next.out), new RegExp(`as rehearsed but for ${rows} rows of Nova `));
  },
);

/** Without a table's borders and line breaks. */
function plain(text: string): string {
  return text.replaceAll(/[|\s]+/g, " ");
}

const KILLED = { sqlite: "copy.filled:2", mysql: "nova.commit.after:1", postgresql: "copy.made:2" };

for (const engine of engines())
  test(`on ${engine}, a rehearsal that is killed at ${KILLED[engine]} leaves two copies, and both go`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { nova, ironic, users, isAsBefore, at, reader } = made;
    await mayCopy(t, ironic, users.reader);
    await mayCopy(t, nova, users.nova);
    const words = wordsOf(made);
    await ends(
      128,
      start(words, { env: { NOVA2IRONIC_FAILPOINT: `${KILLED[engine]}:kill` } }).ended,
    );
    await isAsBefore();
    const state = await runs(0, ["status", ...at]);
    assert.ok(state.out.includes(copyOf(nova.name)), state.out);
    // What is not given is not taken away; the other one is.
    const alone = await ends(
      4,
      run(["rehearse", ...at, ...reader, "--without", "nova-db", "--undo"]),
    );
    assert.match(alone.err, /^ERROR N2I-E351 .* no --nova-db is given/m);
    assert.equal(await isCopied(ironic), false);
    const undone = await runs(0, [...words, "--undo"]);
    assert.match(undone.out, /Removed .*, which an earlier rehearsal left/);
    assert.deepEqual([await isCopied(nova), await isCopied(ironic)], [false, false]);
    await isAsBefore();
  });

testOnce(
  "what ends apply behind Nova's flavors is told as it is, and not as half a night",
  async (t) => {
    const made = await plannedCloud("sqlite", t);
    const { ironic } = made;
    await ironic.db.raw(
      "CREATE TRIGGER theirs BEFORE INSERT ON nodes BEGIN SELECT RAISE(ABORT, 'theirs'); END",
    );
    const { status, err } = await run(wordsOf(made));
    assert.notEqual(status, 0);
    assert.match(err, /^ERROR N2I-E2\d\d /m);
    assert.doesNotMatch(err, /N2I-E301|are changed/);
    assert.deepEqual([await isCopied(ironic), await isCopied(made.nova)], [false, false]);
  },
);
