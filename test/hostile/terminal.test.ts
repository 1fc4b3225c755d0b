import assert from "node:assert/strict";
import { chmodSync, cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  assertRefusal,
  MAIN,
  onTerminal,
  pausedAt,
  quoted,
  refused,
  run,
  runs,
  startProgram,
} from "./cli.ts";
import { type Deployment, plannedFiles } from "./deployment.ts";
import { digest, treeOf } from "./digest.ts";
import { SMALL, tenant } from "./fleet.ts";
import { plannedWhole } from "./whole.ts";

function planned(t: TestContext, machines = 2): Promise<Deployment> {
  const nodes = Array.from({ length: machines }, (_, at) => tenant(at + 1));
  return plannedFiles(t, { ...SMALL, nova_bm: { nodes } });
}

test("without a terminal, apply and rollback need --yes; without it nothing is written", async (t) => {
  const made = await planned(t);
  const before = await digest(made.ironic);
  const apply = ["apply", ...made.at, ...made.writer, "-q"];
  const tree = treeOf(made.run);
  await refused(apply, 4, "N2I-E303", [/--yes/]);
  assertRefusal(await run(apply, { input: "yes\n" }), 4, "N2I-E303");
  assert.equal(await digest(made.ironic), before);
  assert.deepEqual(treeOf(made.run), tree);
  await runs(0, [...apply, "--yes"]);
  const loaded = await digest(made.ironic);
  await refused(["rollback", ...made.at, ...made.writer, "--all", "-q"], 4, "N2I-E303");
  assert.equal(await digest(made.ironic), loaded);
});

test("on a terminal the question is asked, and only yes is a yes", async (t) => {
  const made = await planned(t);
  const apply = ["apply", ...made.at, ...made.writer];
  const before = await digest(made.ironic);
  for (const answer of ["\n", "YES\n", "\x04"]) {
    const ran = await onTerminal(apply, answer);
    assert.equal(ran.status, 4, JSON.stringify(answer) + ran.out);
    assert.match(ran.out, /Load them into sqlite:.*\? Type "yes" to continue: /);
    assert.match(ran.out, /ERROR N2I-E303 nothing was done/);
    assert.equal(await digest(made.ironic), before);
  }
  const ran = await onTerminal(apply, "yes\n");
  assert.equal(ran.status, 0, ran.out);
  assert.notEqual(await digest(made.ironic), before);
  const undone = await onTerminal(["rollback", ...made.at, ...made.writer, "--all"], "no\n");
  assert.equal(undone.status, 4, undone.out);
  assert.match(undone.out, /Remove everything of this run from sqlite:/);
  const copy = join(made.folder, "copy");
  cpSync(made.run, copy, { recursive: true });
  // Node 24's cp forgets it.
  chmodSync(copy, 0o700);
  for (const words of [["rollback", "--all", ...made.writer], ["apply", ...made.writer], ["run"]]) {
    const copied = await onTerminal([...words, "--run", copy], "yes\n");
    assert.match(copied.out, /N2I-E222/);
    assert.doesNotMatch(copied.out, /Type "yes"/, words[0]);
  }
});

test("a reader that goes away ends the tool with 141 and without a trace", async (t) => {
  // More than a pipe holds, or the tool may be done before its reader is gone.
  const made = await planned(t, 300);
  const words = ["show", `${made.run}/plan`, "--diff", "--all"];
  const tool = quoted([process.execPath, MAIN, ...words]);
  const shell = `set -o pipefail; ${tool} | head -1 > /dev/null`;
  const ran = await startProgram("bash", ["--norc", "-c", shell]).ended;
  assert.equal(ran.status, 141, ran.err);
  assert.equal(ran.err, "");
});

for (const streams of [["stdout"], ["stdout", "stderr"]] as const)
  test(`a reader of ${streams.join(" and ")} that goes away amid a load has it stop after the batch and name what goes on`, async (t) => {
    const made = await plannedWhole("sqlite", t);
    const { at, writer, novaWriter, ironic, nova } = made;
    const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes"];
    const hosts = () => nova.db("instances").orderBy("id").select("host");
    const before = await hosts();
    const started = await pausedAt("begin.after:1", apply);
    started.unread(...streams);
    started.signal("SIGUSR2");
    const { status, err } = await started.ended;
    assert.equal(status, 143, err);
    assert.equal((await ironic.db("nodes")).length, 2);
    assert.deepEqual(await hosts(), before);
    // Where stderr went with it, the log alone has it.
    const log = readFileSync(join(made.run, "log.jsonl"), "utf8").trimEnd().split("\n");
    assert.match(log.at(-1) ?? "", /"type":"end","status":143/);
    const said = log.map((line) => `${JSON.parse(line).text}\n`).join("");
    for (const text of streams.length === 1 ? [said, err] : [said]) {
      assert.match(text, /^std(out|err) is closed, because its reader has exited\.$/m);
      assert.match(text, /^Stopping after this batch\. /m);
      assert.match(text, /^Next: nova2ironic apply /m);
      assert.doesNotMatch(text, /ERROR/);
    }
    assert.match((await runs(0, ["status", ...at])).err, /^Next: nova2ironic apply /m);
    await runs(0, [...apply, "-q"]);
  });

test("closed standard streams are no reason to fail", async (t) => {
  const made = await planned(t);
  const plan = quoted([process.execPath, MAIN, "plan", ...made.at, ...made.reader, ...made.plan]);
  for (const closed of ["<&- 2>&-", "> /dev/null 2>&1 <&-"]) {
    const ran = await startProgram("bash", ["--norc", "-c", `${plan} ${closed}`]).ended;
    assert.equal(ran.status, 0, `${closed} ${ran.err}`);
  }
});
