import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { test } from "node:test";
import { assertRefusal, run, runs, start } from "../hostile/cli.ts";
import { IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { changes } from "./rows.ts";

test("Ctrl-C while flavors change ends the apply before the load, and the same command goes on", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const words = ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes"];
  for (const [point, flavors] of [
    ["nova.begin.before", 4],
    ["nova.commit.after", 4],
  ] as const) {
    const started = start(words, { env: { NOVA2IRONIC_FAILPOINT: `${point}:1:pause` } });
    await started.said(`failpoint ${point}`);
    started.signal("SIGINT");
    await started.said("once more stops at once");
    started.signal("SIGUSR2");
    const { status, out, err } = await started.ended;
    assert.equal(status, 130, err);
    assert.match(out, new RegExp(`^Apply to nova, flavors: ${flavors} rows changed`, "m"));
    assert.doesNotMatch(out, /^Apply: /m);
    assert.match(err, /^Stopped on request; nothing is loaded\. Next: nova2ironic apply /m);
    const there = await made.now();
    assert.deepEqual(changes(made.before.ironic, there.ironic), {});
    await runs(0, [
      ...["rollback", ...made.at, ...made.writer, ...made.novaWriter],
      ...["--all", "--yes", "-q"],
    ]);
  }
  assert.equal((await made.act(["apply"])).status, 0);
  assert.equal((await made.act(["rollback", "--all"])).status, 0);
  await made.isAsBefore();
});

test("a plan killed before its plan for Nova was in place is refused by name until it is made again", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const { at, reader, source, plan, writer } = made;
  const nova = source.slice(2, 4);
  const planning = [
    ...["plan", ...at, ...reader, ...nova, ...plan, "-q"],
    ...["--compute-host", "another-compute", ...IMAGES],
  ];
  const ran = await run(planning, { env: { NOVA2IRONIC_FAILPOINT: "plan.between:1:kill" } });
  assert.equal(ran.status, 128, ran.err);
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  const why = /nova\.jsonl is not the plan for Nova that was made with the plan/;
  for (const words of [
    applying,
    [...applying, "--leave-nova"],
    [...applying, ...made.novaWriter],
    ["verify", ...at, ...reader, ...nova, "-q"],
  ])
    assertRefusal(
      await run(words, { bare: true }),
      4,
      "N2I-E114",
      why,
      /Run plan again, with --nova-db/,
    );
  const checked = await run(["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0"]);
  assert.equal(checked.status, 255, checked.out);
  assert.match(checked.err, why);
  const status = await run(["status", ...at]);
  assert.match(status.out, why);
  assert.match(status.err, /^Next: nova2ironic plan /m);
  await runs(0, planning);
  assert.equal((await made.act(["apply"])).status, 0);
  assert.equal((await made.act(["rollback", "--all"])).status, 0);
  await made.isAsBefore();
});

test("a plan for Nova of another making is refused, though both name the same plan", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const other = made.copy("other");
  const { reader, source, plan } = made;
  await runs(0, [
    ...["plan", "--run", other, ...reader, ...source.slice(2, 4), ...plan, "-q"],
    ...["--compute-host", "another-compute", ...IMAGES],
  ]);
  // The machines' lines are the same, and so is the plan's digest.
  copyFileSync(`${other}/nova.jsonl`, `${made.run}/nova.jsonl`);
  assertRefusal(await made.act(["apply"]), 4, "N2I-E114", /nova\.jsonl is not the plan for Nova/);
  await made.isAsBefore();
});
