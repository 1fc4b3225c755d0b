import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { assertRefusal, ends, pausedAt, run, runs } from "../../hostile/cli.ts";
import { IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { changes } from "./rows.ts";

test("Ctrl-C while flavors change ends the apply before the load, and the same command goes on", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const words = ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes"];
  const started = await pausedAt("nova.begin.before:1", words);
  started.signal("SIGINT");
  await started.said("once more stops at once");
  started.signal("SIGUSR2");
  const { status, out, err } = await started.ended;
  assert.equal(status, 130, err);
  assert.match(out, /^Apply to nova, flavors: 4 rows changed/m);
  assert.doesNotMatch(out, /^Apply: /m);
  assert.match(err, /^Stopped on request; nothing is loaded\.\nNext: nova2ironic apply /m);
  const there = await made.now();
  assert.deepEqual(changes(made.before.ironic, there.ironic), {});
  await ends(0, made.act(["apply"]));
  await ends(0, made.act(["rollback", "--all"]));
  await made.isAsBefore();
});

test("a plan that is killed once it is whole, before it is the run's, leaves the old one, and is made again", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { at, reader, source, plan, run: folder } = made;
  const plans = (): readonly string[] => readdirSync(folder).filter((name) => /^plan-/.test(name));
  const [first = ""] = plans();
  const planning = [
    ...["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"],
    ...["--compute-host", "another-compute", ...IMAGES],
  ];
  await ends(128, run(planning, { env: { NOVA2IRONIC_FAILPOINT: "plan.between:1:kill" } }));
  assert.equal(plans().length, 2);
  assert.equal(readlinkSync(`${folder}/plan`), first);
  assert.match((await runs(0, ["show", `${folder}/plan`, "--nova"])).out, /ironic-compute/);
  await ends(0, made.act(["apply"]));
  await ends(0, made.act(["rollback", "--all"]));
  await made.isAsBefore();

  await runs(0, planning);
  assert.notEqual(readlinkSync(`${folder}/plan`), first);
  assert.deepEqual(plans().toSorted(), [first, readlinkSync(`${folder}/plan`)].toSorted());
});

test("a file of Nova of another plan is refused by every command that reads it, though machines are the same", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const other = made.copy("other");
  const { at, reader, source, plan, writer } = made;
  const nova = source.slice(2, 4);
  await runs(0, [
    ...["plan", "--run", other, ...reader, ...nova, ...plan, "-q"],
    ...["--compute-host", "another-compute", ...IMAGES],
  ]);
  const file = "plan/nova-hosts.jsonl";
  copyFileSync(`${other}/${file}`, `${made.run}/${file}`);
  const why = /nova-hosts\.jsonl is not the file that plan\.json beside it names/;
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  for (const words of [
    applying,
    [...applying, "--leave-nova"],
    [...applying, ...made.novaWriter],
    ["verify", ...at, ...reader, ...nova, "-q"],
  ])
    assertRefusal(await run(words, { bare: true }), 4, "N2I-E114", why);
  const checked = await ends(
    255,
    run(["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0"]),
  );
  assert.match(checked.err, why);
  const status = await run(["status", ...at]);
  assert.match(status.out, why);
  assert.match(status.err, /^Next: nova2ironic plan /m);
  await made.isAsBefore();
});
