import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, ends, pausedAt, run, runs } from "../../hostile/cli.ts";
import { IMAGES as FLAVORS } from "./cloud.ts";
import { planned, walk } from "./walking.ts";

const IMAGES = ["--deploy-kernel", "new-kernel", "--deploy-ramdisk", "new-ramdisk"];

function decisionsIn(run: string): string {
  const [, decisions = ""] = readFileSync(join(run, "connections.yaml"), "utf8").split(
    "decisions:",
  );
  return decisions.trim().replaceAll(/\s+/g, " ");
}

test("what a run is given for its plan is saved, and later commands use it", async (t) => {
  const made = await planned(t);
  await runs(0, ["extract", ...made.at, "-q"]);
  const first = await walk(made, "--until", "extract", ...IMAGES, "--rate", "100");
  assert.match(
    first.err,
    /Stopped before plan.*\nNext: nova2ironic run --run \S+ --watch 0 --wait 0$/m,
  );
  const saved = 'rate: 100 deploy_kernel: "new-kernel" deploy_ramdisk: "new-ramdisk"';
  assert.equal(decisionsIn(made.run), saved);
  await ends(0, walk(made, "--until", "plan"));
  const note = JSON.parse(readFileSync(join(made.run, "planned.json"), "utf8")) as object;
  assert.deepEqual(note, { "deploy-kernel": "new-kernel", "deploy-ramdisk": "new-ramdisk" });
  assert.equal(decisionsIn(made.run), saved);
  // The same options again change nothing.
  const again = await walk(made, "--until", "plan", ...IMAGES);
  assert.doesNotMatch(again.err, /Stage|is repeated/);
});

test("a plan that is wanted otherwise is made again, and is not once it was applied", async (t) => {
  const made = await planned(t);
  const anew = await walk(made, "--until", "plan", ...IMAGES);
  assert.match(
    anew.err,
    /^plan is repeated: it was made with a different --deploy-kernel, --deploy-ramdisk\.$/m,
  );
  assert.match(decisionsIn(made.run), /new-kernel/);
  await ends(0, made.act(["apply"]));
  const late = await walk(made, "--max-unreachable", "3", "--allow-other-nodes");
  const err = late.err.slice(late.err.indexOf("ERROR "));
  const why = /with a different --allow-other-nodes, --max-unreachable, and was applied/;
  assertRefusal({ ...late, out: "", err }, 4, "N2I-E328", why);
  // What is refused is neither repeated nor saved.
  assert.doesNotMatch(late.err, /nova2ironic run .*--(beside|max)/);
  assert.match(err, /same options as before: nova2ironic run --run \S+ --watch 0 --wait 0$/m);
  assert.doesNotMatch(decisionsIn(made.run), /beside|max/);
});

test("a site document that has changed since is in what is loaded, and one that was not changes nothing", async (t) => {
  const made = await planned(t);
  const counts = async (): Promise<string> => {
    const { out } = await runs(0, ["show", `${made.run}/plan`, "-f", "value", "-c", "Verdict"]);
    return out.trim().split("\n").toSorted().join(" ");
  };
  const same = await walk(made, "--until", "plan");
  assert.doesNotMatch(same.err, /is repeated/);
  assert.equal(await counts(), "create create create create");
  const file = join(made.folder, "site.json");
  const site = JSON.parse(readFileSync(file, "utf8")) as { readonly machines: readonly object[] };
  const machines = [...site.machines, { match: { id: "4" }, skip: "returned to the vendor" }];
  writeFileSync(file, JSON.stringify({ ...site, machines }));
  const anew = await walk(made, "--until", "plan");
  assert.match(anew.err, /^plan is repeated: it was made with a different site document\.$/m);
  assert.equal(await counts(), "create create create skipped");
  assert.doesNotMatch((await walk(made, "--until", "plan")).err, /is repeated/);
  // One that is another after each plan is no end.
  mkdirSync(join(made.run, "hooks"), { mode: 0o700 });
  const rewrites = `#!/bin/sh\nsed 's/vendor/vendor!/' '${file}' >'${file}.new' && mv '${file}.new' '${file}'\n`;
  writeFileSync(join(made.run, "hooks", "after-plan"), rewrites, { mode: 0o700 });
  writeFileSync(file, JSON.stringify({ ...site, machines }).replace("vendor", "the vendor"));
  const round = await walk(made, "--until", "plan");
  assert.match(
    round.err,
    /N2I-E328 plan: it was made with a different site .*it was already repeated once/,
  );
});

test("a repeated stage gives the reason, and loaded data is not read again without a message", async (t) => {
  const made = await planned(t);
  const elsewhere = join(made.folder, "elsewhere");
  const wrong = await walk({ ...made, at: ["--run", elsewhere] });
  assert.match(wrong.err, /^.*elsewhere has no run yet\. It begins with extract\.$/m);
  assert.equal(wrong.status, 64, wrong.err);
  const snapshot = join(made.run, "snapshot.jsonl");
  appendFileSync(snapshot, "{}\n");
  const why = /N2I-E111 .*snapshot\.jsonl has no footer/;
  const { out } = await runs(0, ["next", ...made.at]);
  assert.match(out, why);
  const again = await walk(made, "--until", "plan");
  assert.match(again.err, new RegExp(`^extract is repeated: ${why.source}`, "m"));
  assert.match(again.err, /^plan is repeated: it was made from a different snapshot\.$/m);
  await ends(0, made.act(["apply"]));
  // A tenant's rebuild changes neither file; another snapshot of what is loaded is nobody's but a person's.
  await made.nova.db("instances").update({ updated_at: "2099-01-01 00:00:00" });
  const rebuilt = await walk(made);
  assert.doesNotMatch(rebuilt.err, /extract|again:/);
  assert.match(rebuilt.err, /start every ironic-conductor/);
  writeFileSync(snapshot, "");
  const lost = await walk(made);
  assert.match(
    lost.err,
    /N2I-E328 .*N2I-E111 .*it is the source of the loaded machines. Restore it/,
  );
  assert.equal(readFileSync(snapshot, "utf8"), "");
  appendFileSync(join(made.run, "plan", "plan.json"), "{}\n");
  assert.match(
    (await walk(made)).err,
    /N2I-E328 .*it is the source of the loaded machines. Restore it/,
  );
  assert.equal(readFileSync(snapshot, "utf8"), "");
});

test("a plan whose flavors are changed is not made again, and is once they are taken back", async (t) => {
  const made = await planned(t, ["--compute-host", "ironic-compute", ...FLAVORS]);
  const words = ["run", ...made.at, "--yes", "--wait", "0", "--watch", "0"];
  const started = await pausedAt("nova.commit.after:1", words);
  started.signal("SIGINT");
  await started.said("A second signal stops immediately");
  started.signal("SIGUSR2");
  const stopped = await ends(130, started.ended);
  assert.equal((await made.ironic.db("nodes")).length, 0);
  // One line says what goes on: the run's.
  assert.match(stopped.err, /^Stopped on request\. Nothing is loaded\.$/m);
  assert.match(stopped.err, /^Stopped on request at apply\.\nNext: nova2ironic run /m);
  assert.equal(stopped.err.match(/Next: /g)?.length, 1, stopped.err);
  const back = /Or roll back first: nova2ironic rollback --run \S+ --all$/m;
  const isRefused = async (why: RegExp, ...more: readonly string[]): Promise<void> => {
    const late = await walk(made, ...more);
    const err = late.err.slice(late.err.indexOf("ERROR "));
    assertRefusal({ ...late, out: "", err }, 4, "N2I-E328", why);
    assert.match(err, back);
  };
  await isRefused(
    /with a different --allow-other-nodes, and some of the Nova rows/,
    "--allow-other-nodes",
  );
  const file = join(made.folder, "site.json");
  const site = readFileSync(file, "utf8");
  writeFileSync(file, `${site}\n`);
  await isRefused(/a different site document, and some of the Nova rows/);
  await ends(0, made.act(["rollback", "--all"]));
  const anew = await walk(made, "--until", "plan");
  assert.match(anew.err, /^plan is repeated: .*a different site document/m);
});

test("what is named nowhere any more is left out of a plan by --without alone", async (t) => {
  const made = await planned(t, ["--compute-host", "ironic-compute"]);
  assert.doesNotMatch((await walk(made, "--until", "plan")).err, /is repeated/);
  const anew = await walk(made, "--until", "plan", "--without", "compute-host");
  assert.match(anew.err, /^plan is repeated: it was made with a different --compute-host\.$/m);
  const bare = await walk(made, "--until", "plan", "--without", "site");
  assert.match(bare.err, /^plan is repeated: it was made with a different site document\.$/m);
});

test("of a plan that is wanted otherwise nothing is said, and nothing read, before its stage", async (t) => {
  const made = await planned(t);
  writeFileSync(join(made.folder, "site.json"), "{");
  for (const more of [[], ["--max-unreachable", "3"]]) {
    const early = await ends(0, walk(made, "--until", "extract", ...more));
    assert.doesNotMatch(early.err, /again/);
  }
});

test("what a first run is given is saved though it ends in extract", async (t) => {
  const made = await planned(t);
  const first = join(made.folder, "first");
  const config = join(made.folder, "first.yaml");
  const missing = `sqlite:///${join(made.folder, "missing.db")}`;
  writeFileSync(config, JSON.stringify({ nova_bm_db: missing }), { mode: 0o600 });
  const ran = await run(["run", "--run", first, "--config", config, "--allow-pairing"]);
  assert.ok(ran.status > 0);
  assert.match(ran.err, /Stage 1 of 9: extract/);
  assert.equal(decisionsIn(first), "allow_pairing: true");
});
