import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { run, runs } from "../hostile/cli.ts";
import { deployFiles, extractAndPlan, privateFolder } from "../hostile/deployment.ts";
import { SITE, SMALL } from "../hostile/fleet.ts";
import { runHere } from "../support/in-process.ts";

async function nextOf(at: readonly string[]): Promise<string> {
  return (await runs(0, ["status", ...at])).err;
}

test("a plan in which nothing can be loaded names what to do, and not apply", async (t) => {
  const skipped = { ...SITE, machines: [{ match: {}, skip: "none of them is to move" }] };
  const made = await deployFiles(t, { ...SMALL, site: skipped });
  const { at, source, reader, plan } = made;
  await runs(0, ["extract", ...at, ...source]);
  assert.match(await nextOf(at), /^Next: nova2ironic power /m);
  const { out, err } = await runs(0, ["plan", ...at, ...reader, ...plan]);
  assert.match(out, /\n\nOf skipped machines:\n {2}N2I-D604 blocks +2 /);
  assert.match(
    err,
    /^The plan loads none of its \d+ machines: .*\nFix .*\nNext: nova2ironic power /m,
  );
  assert.match(await nextOf(at), /^Next: nova2ironic power .*loads none of its/m);
  await run(["power", ...at]);
  assert.match(await nextOf(at), /^Next: nova2ironic plan .*loads none of its/m);
  await runs(0, ["plan", ...at, ...reader, ...plan]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic show \S+plan --skipped {2}# .*loads none of its/m,
  );
  appendFileSync(join(made.folder, "site.json"), "\n");
  assert.match(await nextOf(at), /^Next: nova2ironic plan .*loads none of its/m);
});

test("a plan with blocked machines names what goes on, each a line of its own", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, reader, plan } = made;
  const [node] = await made.bm.db("bm_nodes").orderBy("id").select("id");
  await made.bm.db("bm_nodes").where(node).update({ task_state: "building" });
  await runs(0, ["extract", ...at, ...source]);
  const { err } = await runs(0, ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan]);
  assert.match(
    err,
    /^1 machine is blocked and 0 in conflict: apply refuses the plan \(N2I-E304\)\.$/m,
  );
  assert.match(
    err,
    /^Next: nova2ironic power --run \S+\nthen: nova2ironic plan .*\nor: nova2ironic apply --run \S+ --skip-blocked$/m,
  );
  const told = /or apply with --skip-blocked$/m;
  assert.match(await nextOf(at), new RegExp(`^Next: nova2ironic power .*${told.source}`, "m"));
  assert.match((await runs(0, ["next", ...at])).out, /nova2ironic power --run/);
});

test("after a verify that finds nothing, status goes on; what is done then makes it void", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at } = made;
  await extractAndPlan(made);
  await runs(0, ["apply", ...at, "--yes", "--leave-nova"]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic verify --run \S+ {2}# if it finds no difference: /m,
  );
  await runs(0, ["verify", ...at]);
  assert.match(await nextOf(at), /^Next: nova2ironic verify --run \S+ --takeover {2}# once/m);
  await made.ironic.db("nodes").update({ driver: "fake" });
  await runs(2, ["verify", ...at]);
  assert.match(
    await nextOf(at),
    /^Next: nova2ironic verify --run \S+ {2}# if it finds no difference: /m,
  );
});

test("a run.json that is foreign or damaged leaves the short help, and a line about it", async (t) => {
  for (const content of ["{}", "x"]) {
    const folder = privateFolder(t);
    writeFileSync(join(folder, "run.json"), content);
    const ran = await runHere([], {}, { cwd: () => folder });
    assert.equal(ran.status, 0, ran.err);
    assert.match(ran.out, /^Try it +nova2ironic demo$/m);
    assert.match(
      ran.err,
      /^Ignored: \S+run\.json is not .* \(N2I-E113\)\. If .*status --run \. .*\n$/,
    );
  }
});
