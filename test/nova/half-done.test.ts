import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { run, runs } from "../hostile/cli.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";

const HOSTS = ["--compute-host", "ironic-compute"];

/** What status, next and finish say of one state, all of them without a word of where databases are. */
async function said({ at, writer, source }: PlannedCloud) {
  const status = await runs(0, ["status", ...at]);
  const next = await runs(0, ["next", ...at, "-f", "json"]);
  const on = ["finish", ...at, ...writer];
  const preview = await runs(0, [...on, "--plan"]);
  const finished = await run([...on, "--yes", "-q"]);
  const verified = await run(["verify", ...at, ...writer, ...source.slice(2, 4), "-q"]);
  return {
    status: status.out,
    next: status.err.split("\n").find((line) => line.startsWith("Next: ")) ?? "",
    one: String(JSON.parse(next.out).next),
    preview: preview.out,
    finish: `${finished.status} ${finished.out}`,
    verify: verified.status,
  };
}

async function planned(t: TestContext, options?: readonly string[]): Promise<PlannedCloud> {
  const made = await plannedCloud("sqlite", t, options);
  assert.ok(made);
  return made;
}

/** Ironic is loaded, and of Nova's hosts nothing is begun. */
async function isCut(made: PlannedCloud): Promise<void> {
  const { next, one, preview, finish, verify } = await said(made);
  assert.match(next, /^Next: nova2ironic apply .*--yes {2}# goes on where it stopped$/);
  assert.match(one, /^nova2ironic apply .*--yes/);
  assert.match(preview, /^Finish would not end this run: its load was stopped before its end\.$/m);
  assert.match(finish, /^3 [\s\S]*^This run is not done: its load was stopped before its end\.$/m);
  assert.match(finish, /^Next: nova2ironic apply .*--yes/m);
  assert.equal(verify, 2);
}

async function isWhole(made: PlannedCloud): Promise<void> {
  const { next, preview, finish } = await said(made);
  assert.match(next, /^Next: nova2ironic verify /);
  assert.match(preview, /^Finish would end this run\.$/m);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
}

for (const [which, options, point] of [
  ["with flavors", undefined, "nova.begin.before:2:kill"],
  ["of hosts alone", HOSTS, "nova.begin.before:1:kill"],
] as const)
  test(`a load ${which} that dies before Nova's hosts is not done, the second one neither`, async (t) => {
    const made = await planned(t, options);
    for (const back of [false, true]) {
      if (back) {
        assert.equal((await made.act(["apply"])).status, 0);
        assert.equal((await made.act(["rollback", "--all"])).status, 0);
        await made.isAsBefore();
      }
      const cut = await made.act(["apply"], point);
      assert.equal(cut.status, 128, cut.err);
      await isCut(made);
    }
    assert.equal((await made.act(["apply"])).status, 0);
    await isWhole(made);
  });

test("a second load that leaves Nova by a word is as whole as a first one", async (t) => {
  const made = await planned(t, HOSTS);
  assert.equal((await made.act(["apply"])).status, 0);
  assert.equal((await made.act(["rollback", "--all"])).status, 0);
  await runs(3, ["apply", ...made.at, ...made.writer, "--leave-nova", "--yes", "-q"], {
    bare: true,
  });
  await isWhole(made);
});

test("rows that a rollback had to leave are counted, and remembered until they are gone", async (t) => {
  const made = await planned(t);
  assert.equal((await made.act(["apply"])).status, 0);
  const instance = (host: string) => made.nova.db("instances").where({ id: 2 }).update({ host });
  await instance("somewhere");
  const back = await made.act(["rollback", "--all"]);
  assert.equal(back.status, 2, back.err);
  assert.match(back.out, /^Rollback: 6 rows removed, 0 gone already, 2 left\.$/m);
  assert.match(back.out, /^Rollback of nova, hosts: \d+ rows restored, 0 so already, [1-9]/m);
  const left = /2 rows of 1 machine are in Ironic still/;
  const { status, next, one, preview, finish } = await said(made);
  assert.match(status, left);
  assert.match(
    next,
    /^Next: nova2ironic rollback .*--all {2}# 2 rows of 1 machine are in Ironic still/,
  );
  assert.match(one, /^nova2ironic rollback .*--all/);
  assert.match(preview, /^Finish would not end this run: its rollback is not through: 2 rows /m);
  assert.match(finish, /^3 [\s\S]*This run is not done: its rollback is not through: 2 rows /);
  await instance("ironic-compute");
  assert.equal((await made.act(["rollback", "--all"])).status, 0);
  await made.isAsBefore();
  assert.match(
    (await runs(0, ["status", ...made.at])).err,
    /^Next: nova2ironic plan .*# rolled back/m,
  );
});

test("one machine that was taken back is told as one, and the run ends without it", async (t) => {
  const made = await planned(t);
  assert.equal((await made.act(["apply"])).status, 0);
  const back = await made.act(["rollback", "--node", "1"]);
  assert.equal(back.status, 0, back.err);
  const { next, finish } = await said(made);
  assert.match(next, /^Next: nova2ironic plan .*# 1 of 4 machines was taken back: /);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
  assert.match((await runs(0, ["status", ...made.at])).err, /^Next: nothing; this run is done$/m);
});

test("finish names a verify that found differences", async (t) => {
  const made = await planned(t);
  const { at, writer, source, nova } = made;
  assert.equal((await made.act(["apply"])).status, 0);
  await nova.db("instances").where({ id: 2 }).update({ host: "somewhere" });
  await runs(2, ["verify", ...at, ...writer, ...source.slice(2, 4), "-q"]);
  assert.match(
    (await runs(0, ["finish", ...at, ...writer, "--plan"])).err,
    /^Verify found differences/m,
  );
  assert.match(
    (await runs(0, ["finish", ...at, ...writer, "--yes"])).err,
    /^Verify found differences/m,
  );
});
