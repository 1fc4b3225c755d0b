import assert from "node:assert/strict";
import { test } from "node:test";
import { fleet } from "../support/fleet.ts";
import { onTerminal, pausedAt, refused, run, runs, start } from "./cli.ts";
import { deployFiles, load } from "./deployment.ts";
import { digests } from "./digest.ts";
import { plannedWhole, type Whole } from "./whole.ts";

const FIRST = "a0000000-0000-4000-8000-000000000001";

/** Ctrl-C at the point; once it goes on to a good place to stop, twice it ends there. */
async function interrupted(words: readonly string[], point: string, times: 1 | 2) {
  const started = await pausedAt(`${point}:1`, words);
  started.signal("SIGINT");
  await started.said("A second signal stops immediately");
  started.signal(times === 1 ? "SIGUSR2" : "SIGINT");
  const ran = await started.ended;
  assert.equal(ran.status, 130, ran.err);
  assert.doesNotMatch(ran.err, /^\s+at |ERROR/m);
  if (times === 1)
    assert.match(ran.err, /^Stopped on request\. Run the same command to continue\.$/m);
  return ran;
}

async function staged(made: Whole): Promise<void> {
  const all = [...made.at, ...made.writer, "--leave-nova", "--staged", "--yes", "-q"];
  await runs(3, ["apply", ...all]);
}

test("Ctrl-C stops boot, twice its undo at once, the same command goes on, and undo gives the tree back", async (t) => {
  const made = await plannedWhole("sqlite", t);
  const stage = [...made.boot, "--yes"];
  const undo = [...stage, "--undo"];
  const before = made.trees();
  assert.match((await interrupted(stage, "boot.step", 1)).out, /^Boot: 1 staged\.$/m);
  assert.match((await runs(0, stage)).out, /^Boot: 1 ready, 1 staged\.$/m);
  assert.match((await runs(0, [...made.boot, "--verify"])).out, /^Verify: 2 ready\.$/m);
  await interrupted(undo, "boot.step", 2);
  await runs(0, undo);
  assert.equal(made.trees(), before);
});

test("Ctrl-C stops a release, and it goes on and is taken back", async (t) => {
  const made = await plannedWhole("sqlite", t);
  await staged(made);
  const before = await digests(made);
  const { at, writer, reader } = made;
  const release = ["handover", ...at, ...writer, "--in-flight", "1", "--yes"];
  const first = await interrupted(release, "clear.committed", 1);
  assert.match(first.out, /^Handover: 1 machine released now, 0 handed over, 1 waiting/m);
  assert.match((await run(["status", ...at])).out, /1 of 2 staged machines released/);
  const seen = await runs(2, ["verify", ...at, ...reader, "--takeover"]);
  assert.match(seen.err, /^Takeover: 0 handed over, 1 waiting, 1 staged/m);
  const more = ["--max-failures", "9", "--deadline", "1"];
  await runs(3, ["handover", ...at, ...writer, "--yes", "-q", ...more]);
  await runs(0, ["handover", ...at, ...writer, "--undo", "--yes"]);
  // The tool's own rows are as they were staged; a conductor has touched none.
  assert.deepEqual(await digests(made), before);
});

test("Ctrl-C stops finish and its undo, and both go on", async (t) => {
  const made = await deployFiles(t, fleet(9, "2023.1"));
  const { at, writer } = made;
  await load(made);
  const before = await digests(made);
  const finish = ["finish", ...at, ...writer, "--yes"];
  // What is begun is brought to its end, and said; no other machine is begun.
  const first = await interrupted(finish, "write.after", 1);
  assert.match(first.out, /^Finish: 1 machine cleared, \d with nothing to clear, .*, 0 left\.$/m);
  assert.doesNotMatch(first.out, /This run is done/);
  assert.match((await runs(0, finish)).out, /^Finish: 2 machines cleared, 7 .*\n.* is done\.$/m);
  const undo = [...finish, "--undo"];
  const second = await interrupted(undo, "returned.after", 1);
  assert.match(second.out, /^Finish undone: 1 machine protected again, 0 left\.$/m);
  await refused(["rollback", ...at, ...writer, "--all", "--yes", "-q"], 4, "N2I-E321");
  await runs(0, undo);
  assert.deepEqual(await digests(made), before);
  await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
});

test("Ctrl-C ends check while it watches, with nothing on stdout", async (t) => {
  const made = await plannedWhole("sqlite", t);
  const words = made.check.toSpliced(made.check.indexOf("--watch"), 2);
  const started = start([...words, "--watch", "3600"]);
  await started.said("Watching heartbeats");
  started.signal("SIGINT");
  const { status, out, err } = await started.ended;
  assert.equal(status, 130, err);
  assert.equal(out, "");
  assert.doesNotMatch(err, /^\s+at |ERROR/m);
});

test("of two commands in one run's folder the second is refused, and says who is inside", async (t) => {
  const made = await plannedWhole("sqlite", t);
  await staged(made);
  const { at, writer, novaWriter, boot, reader, check } = made;
  const release = ["handover", ...at, ...writer, "--deadline", "1", "--yes", "-q"];
  const others = [
    [...boot, "--yes", "-q"],
    [...boot, "--undo", "--yes", "-q"],
    release,
    [...release, "--undo"],
    ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"],
    ["rollback", ...at, ...writer, ...novaWriter, "--all", "--yes", "-q"],
    ["finish", ...at, ...writer, "--yes", "-q"],
    [...made.planning, "-q"],
  ];
  const inside = await pausedAt("boot.step:1", [...boot, "--yes", "--node", FIRST]);
  for (const other of others) await refused(other, 11, "N2I-E302", [/is locked by boot \(process/]);
  await runs(0, ["status", ...at]);
  await runs(1, check);
  await runs(2, ["verify", ...at, ...reader, "--takeover"]);
  inside.signal("SIGKILL");
  await inside.ended;
  await runs(0, [...boot, "--yes", "-q"]);
});

test("on a terminal boot, release and finish ask first, and only yes is a yes", async (t) => {
  const made = await plannedWhole("sqlite", t);
  await staged(made);
  const before = [await digests(made), made.trees()];
  const release = ["handover", ...made.at, ...made.writer, "--deadline", "1"];
  const finish = ["finish", ...made.at, ...made.writer];
  for (const [words, question] of [
    [made.boot, /Stage boot files in .*\/tree\? Type "yes" to continue: /],
    [[...made.boot, "--undo"], /Remove boot files in .*\/tree\?/],
    [release, /Hand over the staged machines of sqlite:.*\?/],
    [[...release, "--undo"], /Stage again the staged machines of sqlite:.*\?/],
    [
      finish,
      /Clear the protection of the machines of this run in sqlite:.*\? Nova can then delete/,
    ],
    [[...finish, "--undo", "--node", FIRST], /Protect a0000000-\S+ in sqlite:.* again\?/],
  ] as const) {
    const ran = await onTerminal(words, "y\n");
    assert.equal(ran.status, 4, ran.out);
    assert.match(ran.out, question);
    assert.match(ran.out, /ERROR N2I-E303 nothing was done/);
  }
  assert.deepEqual([await digests(made), made.trees()], before);
});
