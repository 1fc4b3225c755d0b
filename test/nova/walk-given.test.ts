import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, runs } from "../hostile/cli.ts";
import { planned, walk } from "./walking.ts";

const IMAGES = ["--deploy-kernel", "new-kernel", "--deploy-ramdisk", "new-ramdisk"];

/** What the run keeps of a command's words. */
function keptOf(run: string, command: string): object {
  const { given } = JSON.parse(readFileSync(join(run, "given.json"), "utf8")) as {
    readonly given: readonly { readonly command: string; readonly options: object }[];
  };
  return given.find((one) => one.command === command)?.options ?? {};
}

test("what a run is given for its plan is kept until the plan is made", async (t) => {
  const made = await planned(t);
  await runs(0, ["extract", ...made.at, "-q"]);
  const first = await walk(made, "--until", "extract", ...IMAGES, "--rate", "100");
  assert.match(
    first.err,
    /Stopped before plan.*Next: nova2ironic run .*--deploy-kernel new-kernel/,
  );
  const { err } = await runs(0, ["status", ...made.at]);
  assert.match(
    err,
    /^Next: nova2ironic plan .*--deploy-kernel new-kernel --deploy-ramdisk new-ram/m,
  );
  const whole = await walk(made, "--until", "plan");
  assert.equal(whole.status, 0, whole.err);
  const plan = { "deploy-kernel": "new-kernel", "deploy-ramdisk": "new-ramdisk" };
  assert.deepEqual(keptOf(made.run, "plan"), plan);
  assert.deepEqual(keptOf(made.run, "run"), {});
  // From here on it is the plan's, and the same words again change nothing.
  const again = await walk(made, "--until", "plan", ...IMAGES);
  assert.doesNotMatch(again.err, /Stage|made again/);
});

test("a plan that is wanted otherwise is made again, and is not once it was applied", async (t) => {
  const made = await planned(t);
  const anew = await walk(made, "--until", "plan", ...IMAGES);
  assert.match(anew.err, /made without --deploy-kernel, --deploy-ramdisk as given now: it is made/);
  assert.match(JSON.stringify(keptOf(made.run, "plan")), /new-kernel/);
  assert.equal((await made.act(["apply"])).status, 0);
  const late = await walk(made, "--max-unreachable", "3", "--beside-others");
  const err = late.err.slice(late.err.indexOf("ERROR "));
  const why = /without --beside-others, --max-unreachable.*applied/;
  assertRefusal({ ...late, out: "", err }, 4, "N2I-E328", why);
  // What is refused is neither repeated nor kept.
  assert.doesNotMatch(late.err, /nova2ironic run .*--(beside|max)/);
  assert.match(err, /leave it out: nova2ironic run --run \S+ --watch 0/);
  assert.deepEqual(keptOf(made.run, "run"), {});
});

test("a stage that is done again says why, and what is loaded is not read anew without a word", async (t) => {
  const made = await planned(t);
  const elsewhere = join(made.folder, "elsewhere");
  const wrong = await walk({ ...made, at: ["--run", elsewhere] });
  assert.match(wrong.err, /^There is no run in .*elsewhere yet: it begins with extract\.$/m);
  assert.equal(wrong.status, 64, wrong.err);
  const snapshot = join(made.run, "snapshot.jsonl");
  appendFileSync(snapshot, "{}\n");
  const why = /N2I-E111 .*snapshot\.jsonl has no footer/;
  const { out } = await runs(0, ["next", ...made.at]);
  assert.match(out, why);
  const again = await walk(made, "--until", "plan");
  assert.match(again.err, new RegExp(`^extract is done again: ${why.source}`, "m"));
  assert.match(again.err, /^plan is done again: it was made from another snapshot\.$/m);
  assert.equal((await made.act(["apply"])).status, 0);
  // A tenant's rebuild changes neither file; another snapshot of what is loaded is nobody's but a person's.
  await made.nova.db("instances").update({ updated_at: "2099-01-01 00:00:00" });
  const rebuilt = await walk(made);
  assert.doesNotMatch(rebuilt.err, /extract|again:/);
  assert.match(rebuilt.err, /start every ironic-conductor/);
  writeFileSync(snapshot, "");
  const lost = await walk(made);
  assert.match(lost.err, /N2I-E328 .*N2I-E111 .*what is loaded came from it; put it back/);
  assert.equal(readFileSync(snapshot, "utf8"), "");
  appendFileSync(join(made.run, "plan", "plan.json"), "{}\n");
  assert.match((await walk(made)).err, /N2I-E328 .*what is loaded came from it; put it back/);
  assert.equal(readFileSync(snapshot, "utf8"), "");
});
