import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
  const late = await walk(made, "--max-unreachable", "3");
  const err = late.err.slice(late.err.indexOf("ERROR "));
  assertRefusal({ ...late, out: "", err }, 4, "N2I-E328", /without --max-unreachable.*applied/);
});
