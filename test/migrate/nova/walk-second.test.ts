import assert from "node:assert/strict";
import { test } from "node:test";
import { novaPlanOf } from "../../../src/migrate/hosts/nova-files.ts";
import { withNovaBackend } from "../../../src/migrate/hosts/nova-side.ts";
import { inRun, openPlan } from "../../../src/run/run.ts";
import { withSession } from "../../../src/run/session.ts";
import { caseUuid } from "../../cases/case.ts";
import { ends, refused, runs } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan, plannedFiles } from "../../hostile/deployment.ts";
import { cloud } from "./cloud.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";
import { changes, differences, rowsOf, sameRows } from "./rows.ts";
import { computeStarts, conductorsStart, isRefused, planned, walk } from "./walking.ts";

test("machines that a night left behind are carried by a second one", async (t) => {
  const made = await planned(t);
  await made.bm.db("bm_interfaces").where({ bm_node_id: 2 }).update({ address: "nonsense" });
  await runs(0, ["extract", ...made.at, "-q"]);
  const loaded = await walk(made, "--skip-blocked");
  assert.match(loaded.err, /start every ironic-conductor/);
  await conductorsStart(made);
  await computeStarts(made);
  const first = await ends(0, walk(made, "--skip-blocked"));
  const left = /1 machine is left behind: nova2ironic show \S+ --match Verdict=blocked/;
  const again =
    /^Once the causes are fixed: nova2ironic extract --run \S+\nthen: .* power --run \S+\nthen: .* run --run \S+$/m;
  assert.match(first.err, left);
  assert.match(first.err, again);
  const { err } = await runs(0, ["status", ...made.at]);
  assert.match(err, /^Next: nothing, this run is done\n1 machine is left/m);
  assert.match(err, again);
  assert.equal((await made.ironic.db("nodes")).length, 3);
  const told = JSON.parse((await runs(0, ["next", ...made.at, "-f", "json"])).out) as {
    why: string;
  };
  assert.match(told.why, new RegExp(`^this run is done\\n${left.source}\\nOnce the causes`));
  await made.ironic.db("conductors").update({ online: false, updated_at: "2014-01-01 00:00:00" });
  await made.bm
    .db("bm_interfaces")
    .where({ bm_node_id: 2 })
    .update({ address: "02:00:00:00:00:77" });
  await runs(0, ["extract", ...made.at, "-q"]);
  const loading = await walk(made);
  assert.match(loading.err, /start every ironic-conductor; 0 machines are taken over, 4 wait/);
  assert.equal((await made.ironic.db("nodes")).length, 4);
  await made.ironic.db("conductors").update({ online: true, updated_at: "2099-01-01 00:00:00" });
  await made.ironic.db("nodes").update({ conductor_affinity: 1, power_state: "power on" });
  const second = await ends(0, walk(made));
  assert.match(second.err, /^The window is closed\.\nThe run is done\.$/m);
  assert.doesNotMatch(second.err, /left behind/);
});

test("a machine deleted since finish is not loaded again by --yes, and is named", async (t) => {
  const made = await planned(t);
  await walk(made);
  await conductorsStart(made);
  await computeStarts(made);
  await ends(0, walk(made));
  const deleted = caseUuid("node", 2);
  const [node] = await made.ironic.db("nodes").where({ uuid: deleted });
  await made.ironic.db("ports").where({ node_id: node.id }).del();
  await made.ironic.db("nodes").where({ id: node.id }).del();
  await made.ironic.db("conductors").update({ online: false, updated_at: "2014-01-01 00:00:00" });
  await runs(0, ["extract", ...made.at, "-q"]);
  // Nobody stops a nova-compute for it, or waits until one stands still.
  await made.nova.db("services").update({ updated_at: "2099-01-01 00:00:00" });
  const ran = await walk(made);
  assert.doesNotMatch(ran.err, /Waiting|: check/);
  isRefused(ran, new RegExp(`loaded them.*${deleted}`));
  assert.match(ran.err, /To load them again: nova2ironic apply --run \S+ --after-finish$/m);
  assert.equal((await made.ironic.db("nodes")).length, 3);
});

/** Changes Nova's rows as a load does that left machines out: their BMC said otherwise, or a conductor refused them. */
async function applyWithout(made: PlannedCloud, machines: readonly number[]): Promise<void> {
  const { run: folder, novaWriter } = made;
  const leaving = new Map(machines.map((id) => [caseUuid("node", id), "left out"]));
  const words = { novaDb: novaWriter[1] ?? "", leaveNova: false, confirm: () => Promise.resolve() };
  const watching = { seconds: 0, allowed: false, report: () => undefined };
  await inRun(folder, "apply", { kind: "migration" }, async (run) => {
    const { footer, lines } = await openPlan(`${folder}/plan`);
    const file = await novaPlanOf(run, footer);
    await withSession(run, (session) =>
      withNovaBackend(run, session, file, { ...words, watching, lines }, async (side) => {
        assert.ok(side);
        await side.check();
        await side.flavors();
        await side.hosts(leaving);
      }),
    );
  });
}

test("a service keeps running for a machine that was left out, and is disabled once that one moved", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  await applyWithout(cloud, [1]);
  const half = differences(cloud.before.nova, await rowsOf(cloud.nova));
  assert.deepEqual(half.get("services:2"), ["disabled", "disabled_reason"]);
  assert.equal(half.get("services:1"), undefined);
  const { status, out, err } = await cloud.act(["apply"]);
  assert.equal(status, 0, err);
  assert.match(out, /hosts: 3 rows changed, \d+ already changed, 0 left/);
  await cloud.undone();
});

test("a row of a machine that was left out is nobody's work of ours, whatever became of it", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  const { nova, before } = cloud;
  await applyWithout(cloud, [1]);
  const theirs = { instances: 1, compute_nodes: 1 } as const;
  // As the operator would write it by hand.
  await nova.db("instances").where({ id: theirs.instances }).update({ host: "ironic-compute" });
  const ran = await ends(2, cloud.act(["rollback", "--all"]));
  assert.match(ran.out, /aggregate_hosts:1\/ironic-compute .*ironic-compute has 1 live instance/);
  assert.deepEqual(changes(before.nova, await rowsOf(nova)), {
    "instances host": 1,
    "aggregate_hosts new": 1,
  });
  await nova.db("instances").where({ id: theirs.instances }).update({ host: "compute-1" });
  await cloud.undone();
});

test("a machine taken back alone takes no service and no aggregate back, which the others need", async (t) => {
  const cloud = await plannedCloud("sqlite", t);
  await ends(0, cloud.act(["apply"]));
  const one = await ends(0, cloud.act(["rollback", "--node", "1"]));
  assert.match(one.out, /hosts: 2 rows restored, .*\. 3 shared rows remain until --all/);
  const after = differences(cloud.before.nova, await rowsOf(cloud.nova));
  for (const row of ["instances:1", "compute_nodes:1"]) assert.equal(after.get(row), undefined);
  for (const row of ["services:1", "services:2", "instances:2", "compute_nodes:2"])
    assert.ok(after.has(row), row);
  assert.equal([...after.keys()].filter((id) => id.startsWith("aggregate_hosts")).length, 1);
  await cloud.undone();
});

const NOTICE =
  /^Notice: without Nova, running nova-compute services are not detected\. .* plan and apply watch them\.$/m;

test("a load that asks no nova is refused until somebody says so, and then tells that it looks at no heartbeat", async (t) => {
  const made = await plannedFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, reader, plan, writer, novaWriter, ironic } = made;
  const before = await rowsOf(ironic);
  const bare = ["apply", ...at, ...writer, "--yes"];
  const why = [/a running nova-compute would not be detected/, /--leave-nova/];
  await refused([...bare, "-q"], 4, "N2I-E311", why, { bare: true });
  sameRows(await rowsOf(ironic), before);
  // What is given with no plan for it is refused too.
  await refused([...bare, "-q", ...novaWriter], 4, "N2I-E114", [/with --nova-db/]);
  sameRows(await rowsOf(ironic), before);
  const without = await runs(0, [...bare, "--leave-nova"]);
  assert.match(without.err, NOTICE);
  await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "-q"]);
  const within = await runs(0, [...bare, ...novaWriter]);
  assert.doesNotMatch(within.err, /without Nova, running/);
});

test("a deployment whose nova was never read is refused alike", async (t) => {
  const made = await deployFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, writer, ironic } = made;
  const before = await rowsOf(ironic);
  await extractAndPlan({ ...made, source: source.toSpliced(2, 2) });
  const bare = ["apply", ...at, ...writer, "--yes"];
  const why = [/Run extract, plan and apply with --nova-db/];
  await refused([...bare, "-q"], 4, "N2I-E311", why, { bare: true });
  sameRows(await rowsOf(ironic), before);
  assert.match((await runs(0, [...bare, "--leave-nova"])).err, NOTICE);
});
