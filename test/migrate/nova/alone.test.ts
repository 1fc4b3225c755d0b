import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readlinkSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { assertRefusal, ends, pausedAt, refused, run, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { conductor, livingIronic } from "../../systems/ironic-api/living.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { changes, differences, rowsOf, sameRows } from "./rows.ts";

test("nova's rows come back when Ironic's are gone, though no Ironic answers any more, and not before", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { act, writer, novaWriter } = made;
  const back = ["rollback", "--run", made.run, "--all", "--yes"];
  const nowhere = ["--ironic-db", `sqlite:///${made.folder}/gone.sqlite`, ...novaWriter];
  await ends(0, act(["apply"]));
  const { nova } = await made.now();
  await refused([...back, ...nowhere, "-q"], 1, "N2I-E200");
  sameRows((await made.now()).nova, nova);

  const half = await ends(2, run([...back, ...writer]));
  assert.match(
    half.out,
    /^Nova rows of this run are not restored\. To roll them back, add --nova-db\./m,
  );
  sameRows((await made.now()).nova, nova);
  const still = await runs(0, ["status", ...made.at]);
  const { size } = differences(made.before.nova, nova);
  // The run knows both databases.
  const next = `rollback --run \\S+ --all {2}# ${size} rows of nova`;
  assert.match(still.err, new RegExp(`^Next: nova2ironic ${next} to restore$`, "m"));
  assert.match(still.out, new RegExp(`removed from Ironic, ${size} rows are not restored`));

  const rest = await ends(0, run([...back, ...nowhere]));
  assert.match(rest.err, /^Ironic has no rows of this run, so it is not opened: /m);
  await made.isAsBefore();
  const last = await runs(0, ["status", ...made.at]);
  assert.match(last.err, /^Next: nova2ironic plan .*rolled back/m);
  assert.match(last.out, /of the machines that were removed from Ironic, 0 rows are not restored/);
});

test("a rollback's preview says of each row of nova what the same command then does", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { act, at, reader, source, nova, writer, novaWriter } = made;
  const loaded = await ends(0, run(["apply", ...at, ...writer, ...novaWriter, "--yes"]));
  assert.deepEqual(loaded.err.match(/^(?:Checking|Changing) .*$/gm), [
    "Checking Ironic, its conductors and Nova before the first write.",
    "Changing Nova flavors.",
    "Changing hosts in Nova's rows.",
  ]);
  // Somebody's: an instance changed since, and one that was made on the new host.
  await nova.db("instances").where({ id: 3 }).update({ host: "theirs" });
  await nova.db("instances").where({ id: 100_000 }).update({ host: "ironic-compute" });
  const words = ["rollback", ...at, ...reader, "--all", "--plan", "-f", "csv"];
  const actions = (out: string, action: string): readonly string[] =>
    [...out.matchAll(/^"(\w+)","(\w+)","([^"]+)"/gm)]
      .filter(([, found, table]) => found === action && table !== "node" && table !== "port")
      .map(([, , table, id]) => `${table}:${id}`)
      .toSorted();

  const without = await runs(0, words);
  assert.equal(actions(without.out, "restore").length, 0);
  assert.match(without.err, /^Nova rows would not be restored\. To roll them back, add --nova-db/m);
  const withNova = await runs(0, [...words, ...source.slice(2, 4)]);
  assert.doesNotMatch(withNova.err, /would not be restored/);
  const count = (action: string) => withNova.out.match(new RegExp(`^"${action}"`, "gm"))?.length;
  const total = `remove ${count("remove")} rows, restore ${count("restore")} and leave ${count("leave")}`;
  assert.match(withNova.err, new RegExp(`^Rollback would ${total}\\.$`, "m"));
  assert.deepEqual(actions(withNova.out, "leave"), [
    "aggregate_hosts:1/ironic-compute",
    "compute_nodes:3",
    "instances:3",
  ]);
  const third = caseUuid("node", 3);
  assert.match(
    withNova.out,
    new RegExp(`"leave","node","${third}",3,"in nova instances:3 has changed`),
  );
  assert.match(withNova.out, /"instances","3",.*"has changed since in host"/);

  const applied = await rowsOf(nova);
  const back = await ends(2, act(["rollback", "--all"]));
  const restored = [...differences(applied, await rowsOf(nova)).keys()].toSorted();
  assert.deepEqual(restored, actions(withNova.out, "restore"));
  assert.match(back.out, /aggregate_hosts:1\/ironic-compute +\|/);
  assert.match(
    back.out,
    new RegExp(
      `machine:${third} +\\| in nova instances:3 has changed since in host: the whole machine stays`,
    ),
  );

  // What is left is told as that, and once nothing is, nothing is said of nova.
  await nova.db("instances").where({ id: 3 }).update({ host: "ironic-compute" });
  await nova.db("instances").where({ id: 100_000 }).update({ host: "kvm-0" });
  await ends(0, act(["rollback", "--all"]));
  const last = await ends(0, run(["rollback", ...at, ...writer, "--all", "--yes", "-q"]));
  assert.doesNotMatch(last.out, /Nova rows/);
});

test("a compute node that the ironic driver wrote over on its own host is no stray", async (t) => {
  const { act, nova } = await plannedCloud("sqlite", t);
  await ends(0, act(["apply"]));
  await ends(0, act(["rollback", "--all"]));
  await nova.db("compute_nodes").update({ hypervisor_type: "ironic" });
  await ends(0, act(["rollback", "--all"]));
});

test("Ctrl-C while flavors change ends the apply before the load, and the same command goes on", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const words = ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes"];
  const started = await pausedAt("nova.begin.before:1", words);
  started.signal("SIGINT");
  await started.said("A second signal stops immediately");
  started.signal("SIGUSR2");
  const { status, out, err } = await started.ended;
  assert.equal(status, 130, err);
  assert.match(out, /^Apply to nova, flavors: 4 rows changed/m);
  assert.doesNotMatch(out, /^Apply: /m);
  assert.match(err, /^Stopped on request\. Nothing is loaded\.\nNext: nova2ironic apply /m);
  const there = await made.now();
  assert.deepEqual(changes(made.before.ironic, there.ironic), {});
  await ends(0, made.act(["apply"]));
  await made.undone();
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
  await made.undone();

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
  const why = /nova-hosts\.jsonl is not the file that plan\.json names/;
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

const USED = caseUuid("node", 1);
const FREE = caseUuid("node", 10);

/** Decisions that let machines load into any release. */
const site = {
  format: "nova2ironic/site@1",
  machines: [
    {
      match: {},
      set: { ...SITE.machines[0].set, resource_class: "baremetal" },
      accept: ["N2I-D227", "N2I-D403", "N2I-D755"].map((finding) => ({
        finding,
        reason: "looked at it",
      })),
    },
  ],
};

type Backend = "rows" | "rest";

/** Every way to have a rollback remove a node that an instance uses. */
const WAYS: readonly { readonly road: Backend; readonly words: readonly string[] }[] = [
  { road: "rows", words: ["--all"] },
  { road: "rows", words: ["--node", USED] },
  { road: "rest", words: ["--all"] },
];

/** Ten machines loaded without a change of any row of Nova; the tenth is free. */
async function loaded(t: TestContext, road: Backend) {
  const release = road === "rest" ? { release: "2023.1" } : {};
  const { at, source, reader, writer, plan, nova, novaWriter } = await deployFiles(t, {
    ...cloud({ machines: 10, others: 1, ...release }),
    site,
  });
  const rest = road === "rest" ? ["--ironic-url", await adopting(t)] : null;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...(rest ?? reader), ...plan, ...source.slice(2, 4), "-q"]);
  const to = [...at, ...(rest ?? writer), "--yes", "-q"];
  await runs(0, ["apply", ...to, ...novaWriter]);
  const report = (host: string, updated_at: unknown) =>
    nova.db("services").where({ host }).update({ updated_at });
  return { to, nova, report, novaWriter, now: nova.db.raw("datetime('now')") };
}

/** An Ironic with a conductor that adopts. */
async function adopting(t: TestContext): Promise<string> {
  const living = await livingIronic(t);
  const lists = conductor("ipmi");
  living.use((call) => {
    const [path = ""] = call.slice("GET ".length).split("?");
    const said = lists[path]?.();
    return said === undefined
      ? null
      : { done: false, says: { status: 200, text: JSON.stringify(said) } };
  });
  return living.url;
}

for (const road of ["rows", "rest"] as const)
  test(`over ${road}, no rollback removes a node that an instance uses beside a nova-compute that runs, or without a look at any`, async (t) => {
    const { to, nova, report, novaWriter, now } = await loaded(t, road);
    await report("compute-1", now);
    for (const { words } of WAYS.filter((way) => way.road === road)) {
      const beside = await ends(4, run(["rollback", ...to, ...words, ...novaWriter]));
      assert.match(beside.err, /N2I-E310.*reported from compute-1 \d+ s ago/s);
      const without = ["--without", "nova-db"];
      const blind = await ends(4, run(["rollback", ...to, ...words, ...without], { bare: true }));
      assert.match(blind.err, /N2I-E311.*instances use \d of the nodes/s);
    }
    await report("compute-1", "2014-12-01 00:00:00");
    if (road === "rows") {
      // Under whatever name it runs: Nova says who offers the machine.
      const old = await nova.db("services").where({ id: 1 }).first();
      await nova.db("services").insert({ ...old, id: 90, host: "elsewhere", updated_at: now });
      await nova.db("compute_nodes").where({ id: 1 }).update({ service_id: 90 });
      const other = await ends(4, run(["rollback", ...to, "--node", USED, ...novaWriter]));
      assert.match(other.err, /N2I-E310.*reported from elsewhere/s);
      await report("elsewhere", "2014-12-01 00:00:00");
      await runs(0, ["rollback", ...to, "--node", FREE, "--without", "nova-db"], { bare: true });
    }
    const back = await runs(0, ["rollback", ...to, "--all", ...novaWriter]);
    assert.match(back.out, /Rollback: [1-9]\d* rows removed/);
  });
