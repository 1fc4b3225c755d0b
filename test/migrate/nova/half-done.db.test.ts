import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ends, type Ran, run, runs } from "../../hostile/cli.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";

const HOSTS = ["--compute-host", "ironic-compute"];

const nextIn = ({ err }: Ran) => err.split("\n").find((line) => line.startsWith("Next: ")) ?? "";

const nextOf = async ({ at }: PlannedCloud) => nextIn(await runs(0, ["status", ...at]));

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
    next: nextIn(status),
    one: String(JSON.parse(next.out).next),
    why: String(JSON.parse(next.out).why),
    preview: preview.out,
    finish: `${finished.status} ${finished.out}`,
    verify: verified.status,
  };
}

const planned = (t: TestContext, options?: readonly string[]) => plannedCloud("sqlite", t, options);

/** Ironic is loaded, and of Nova's hosts nothing is begun. */
async function isCut(made: PlannedCloud): Promise<void> {
  const { next, one, preview, finish, verify } = await said(made);
  assert.match(next, /^Next: nova2ironic apply .*--yes {2}# resumes where it stopped$/);
  assert.match(one, /^nova2ironic apply .*--yes/);
  assert.match(
    preview,
    /^Finish would not end this run: its load was stopped before it was complete\.$/m,
  );
  assert.match(
    finish,
    /^3 [\s\S]*^This run is not done: its load was stopped before it was complete\.$/m,
  );
  assert.match(finish, /^Next: nova2ironic apply .*--yes/m);
  assert.equal(verify, 2);
}

async function isComplete(made: PlannedCloud): Promise<void> {
  const { next, preview, finish } = await said(made);
  assert.match(next, /^Next: nova2ironic verify /);
  assert.match(preview, /^Finish would end this run\.$/m);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
}

for (const [which, options, point, loads] of [
  ["with flavors", undefined, "nova.begin.before:2:kill", [false]],
  ["of hosts alone", HOSTS, "nova.begin.before:1:kill", [true]],
] as const)
  test(`a load ${which} that dies before Nova's hosts is not done, the second one neither`, async (t) => {
    const made = await planned(t, options);
    for (const back of loads) {
      if (back) {
        await ends(0, made.act(["apply"]));
        await made.undone();
      }
      await ends(128, made.act(["apply"], point));
      await isCut(made);
    }
    await ends(0, made.act(["apply"]));
    await isComplete(made);
  });

test("a second load that leaves Nova by a word is as whole as a first one", async (t) => {
  const made = await planned(t, HOSTS);
  await ends(0, made.act(["apply"]));
  await ends(0, made.act(["rollback", "--all"]));
  await runs(3, ["apply", ...made.at, ...made.writer, "--leave-nova", "--yes", "-q"], {
    bare: true,
  });
  await isComplete(made);
});

test("rows that a rollback had to leave are counted, and remembered until they are gone", async (t) => {
  const made = await planned(t);
  await ends(0, made.act(["apply"]));
  const instance = (host: string) => made.nova.db("instances").where({ id: 2 }).update({ host });
  await instance("somewhere");
  const back = await ends(2, made.act(["rollback", "--all"]));
  assert.match(back.out, /^Rollback: 6 rows removed, 0 already deleted, 2 left\.$/m);
  assert.match(back.out, /^Rollback of nova, hosts: \d+ rows restored, 0 already restored, [1-9]/m);
  const left = /2 rows of 1 machine are still in Ironic/;
  const { status, next, one, preview, finish } = await said(made);
  assert.match(status, left);
  assert.match(
    next,
    /^Next: nova2ironic rollback .*--all {2}# 2 rows of 1 machine are still in Ironic/,
  );
  assert.match(one, /^nova2ironic rollback .*--all/);
  assert.match(preview, /^Finish would not end this run: its rollback is not complete: 2 rows /m);
  assert.match(finish, /^3 [\s\S]*This run is not done: its rollback is not complete: 2 rows /);
  await instance("ironic-compute");
  await made.undone();
  assert.match(await nextOf(made), /^Next: nova2ironic plan .*# rolled back/);
});

/** Loads it, and takes machines back of which somebody changed a row of the first one meanwhile. */
async function leftOne(made: PlannedCloud, nodes: readonly string[], more: readonly string[] = []) {
  const { at, writer, act } = made;
  if (more.length === 0) await ends(0, act(["apply"]));
  else await runs(3, ["apply", ...at, ...writer, ...more, "--yes", "-q"], { bare: true });
  const extra = await isChanged(made);
  const words = ["rollback", ...nodes.flatMap((node) => ["--node", node])];
  const back =
    more.length === 0
      ? await act(words)
      : await run([...words, ...at, ...writer, ...more, "--yes", "-q"], { bare: true });
  assert.equal(back.status, 2, back.err);
  return { back, extra };
}

/** Somebody changes the node of the first machine; gives what has it as it was. */
async function isChanged({ ironic }: PlannedCloud): Promise<() => Promise<unknown>> {
  const { uuid, extra } = await ironic.db("nodes").orderBy("uuid").first("uuid", "extra");
  const first = () => ironic.db("nodes").where({ uuid });
  await first().update({ extra: '{"x":1}' });
  return () => first().update({ extra });
}

test("a machine that a rollback of it alone had to leave was not taken back", async (t) => {
  const made = await planned(t);
  const { back, extra } = await leftOne(made, ["1"], ["--leave-nova"]);
  assert.match(back.out, /^Rollback: 0 rows removed, 0 already deleted, 2 left\.$/m);
  await extra();
  const { status, next, finish, verify } = await said(made);
  assert.doesNotMatch(status, /[1-9]\d* rows? (is|are) not restored/);
  assert.match(next, /^Next: nova2ironic verify /);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
  assert.equal(verify, 2);
});

test("of two machines of which one had to stay, one was taken back, and the other is to be gone on with", async (t) => {
  const made = await planned(t);
  const { extra } = await leftOne(made, ["1", "2"]);
  const { status, next, finish } = await said(made);
  assert.doesNotMatch(status, /[1-9]\d* rows? (is|are) not restored/);
  assert.match(next, /^Next: nova2ironic plan .*# 1 of 4 machines was rolled back: /);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
  assert.match(await nextOf(made), /^Next: nothing, this run is done$/);
  await extra();
  await runs(0, ["finish", ...made.at, ...made.writer, "--undo", "--yes", "-q"]);
  await ends(0, made.act(["rollback", "--node", "1"]));
  assert.match(
    await nextOf(made),
    /^Next: nova2ironic plan .*# 2 of 4 machines were rolled back: /,
  );
});

test("a load that dies behind its commit waits for its end, whoever is taken back or left after it", async (t) => {
  const made = await planned(t, HOSTS);
  await ends(0, made.act(["apply"]));
  await ends(0, made.act(["rollback", "--node", "1"]));
  await ends(128, made.act(["apply"], "commit.after:1:kill"));
  const extra = await isChanged(made);
  await ends(2, made.act(["rollback", "--node", "1"]));
  await extra();
  assert.match(await nextOf(made), /^Next: nova2ironic apply .*--yes {2}# resumes where it/);
  await ends(0, made.act(["rollback", "--node", "2"]));
  const { next, one, why, preview, finish } = await said(made);
  assert.match(next, /^Next: nova2ironic apply .*--yes {2}# resumes where it stopped, and loads/);
  assert.match(why, /loads again the machines that were/, "which is a person's to decide");
  assert.match(one, /^nova2ironic apply .*--yes/);
  assert.match(preview, /^Finish would not end this run: /m);
  assert.match(finish, /^3 [\s\S]*^Next: nova2ironic apply .*--yes/m);
  assert.doesNotMatch(finish, /ends the run without/);
  await ends(0, made.act(["apply"]));
  await isComplete(made);
});

test("a rollback of one machine that dies behind its commit goes on", async (t) => {
  const made = await planned(t);
  await ends(0, made.act(["apply"]));
  await ends(128, made.act(["rollback", "--node", "1"], "commit.after:1:kill"));
  const { next, finish } = await said(made);
  assert.match(next, /^Next: nova2ironic rollback .*--node \S+ {2}# 2 rows of nova to restore/);
  assert.match(finish, /^3 [\s\S]*^Next: nova2ironic rollback .*--node/m);
  await ends(0, made.act(["rollback", "--node", "1"]));
  assert.match(await nextOf(made), /# 1 of 4 machines was rolled back: /);
});

test("a machine that every rollback has to leave is kept by a new apply, and the run ends", async (t) => {
  const made = await planned(t);
  const { at, writer, source } = made;
  await ends(0, made.act(["apply"]));
  await made.nova.db("instances").where({ id: 2 }).update({ host: "somewhere" });
  await runs(2, ["verify", ...at, ...writer, ...source.slice(2, 4), "-q"]);
  for (const how of ["--plan", "--yes"]) {
    const { err } = await runs(0, ["finish", ...at, ...writer, how]);
    assert.match(err, /^The last verify found differences/m);
  }
  await runs(0, ["finish", ...at, ...writer, "--undo", "--yes", "-q"]);
  for (let nights = 0; nights < 2; nights++) await ends(2, made.act(["rollback", "--all"]));
  const refused = await run(["finish", ...made.at, ...made.writer, "--yes", "-q"]);
  assert.match(
    refused.out,
    /^Resolve the rows that .* would leave, .*\. Alternatively, load .* again with apply\.$/m,
  );
  await ends(2, made.act(["apply"]));
  assert.equal((await made.ironic.db("nodes")).length, 4);
  const { next, finish, verify } = await said(made);
  assert.match(next, /^Next: nova2ironic verify /);
  assert.match(finish, /^0 [\s\S]*^This run is done\.$/m);
  assert.equal(verify, 2);
});
