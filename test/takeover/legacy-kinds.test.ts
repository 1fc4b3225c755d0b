import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { ends, killedAt, run } from "../hostile/cli.ts";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { BRIEF, MOVE, QUICK, serviceOf, uuidOf } from "./cloud.ts";
import { type LegacyCloud, legacyCloud } from "./legacy-cloud.ts";

const PLAN = ["host", "plan", "--node", uuidOf("node", 2), "--to", "B", ...QUICK];

/** A plan for machines of Ironic in a run of this name. */
function ironicPlan({ folder, places }: LegacyCloud, name: string, more: readonly string[] = []) {
  return run([...PLAN, "--run", join(folder, "runs", name), ...places.slice(2), ...more]);
}

test("a run moves machines of nova-baremetal, or of Ironic, and takes no plan for the others", async (t) => {
  const cloud = await legacyCloud(t, { machines: 2 });
  await ends(0, cloud.host(...PLAN));
  const other = await ironicPlan(cloud, "h1", ["--without", "nova-bm-db"]);
  assert.match(other.err, /N2I-E315 \S+ moves machines of nova-baremetal/);
  await ends(0, ironicPlan(cloud, "h2"));
  const back = await cloud.host(...PLAN, "--run", join(cloud.folder, "runs", "h2"));
  assert.match(back.err, /N2I-E315 \S+ moves machines of Ironic/);
});

test("verify and rollback of such a run are told of nova_bm where nobody remembers, and those of others are not", async (t) => {
  const cloud = await legacyCloud(t, { machines: 2 });
  const { host, folder, places } = cloud;
  await ends(0, host(...PLAN));
  await ends(0, host(...MOVE));
  rmSync(join(folder, "runs", "h1", "connections.yaml"));
  const novaBm = places.slice(0, 2);
  await ends(0, host("verify", "--queue-purged", ...novaBm));
  await ends(0, host("rollback", "--all", "--yes", ...novaBm));
  const none = await host("rollback", "--all", "--yes", "--in-flight", "3", ...novaBm);
  assert.match(none.err, /N2I-E100 rollback of a run between hosts has no option --in-flight/);
  const others = join(folder, "runs", "h2");
  await ironicPlan(cloud, "h2");
  const other = await host("rollback", "--all", "--yes", "--run", others, ...novaBm);
  assert.match(other.err, /N2I-E100 rollback of a run between hosts has no option --nova-bm-db/);
  const load = join(folder, "load");
  await markKind(await openRun(load, { create: true }), { kind: "migration" }, "extract");
  for (const words of [["verify"], ["rollback", "--all", "--yes"]]) {
    const ran = await host(...words, "--run", load, ...novaBm);
    assert.match(ran.err, /N2I-E100 (verify|rollback) of this run has no option --nova-bm-db/);
  }
});

test("a dead host's clock is not believed: its machines go once it was watched", async (t) => {
  const { host, nova, rows } = await legacyCloud(t, { machines: 2 });
  const slow = [...PLAN.slice(0, -1), "500"];
  await ends(0, host(...slow));
  // It lives, and its clock is behind: its reports look old.
  const report = () => serviceOf(nova, "A").increment("report_count", 1);
  const move = () => host(...MOVE);
  const moved = await ends(4, whileItWaits(report, move));
  assert.match(moved.err, /Watching A for/);
  assert.match(moved.err, /N2I-E316 nova-compute of A reported/);
  assert.equal((await rows()).machines[1], "2 A 0 - - |");
});

test("machines of a host that keeps its lease are neither planned nor moved; a fence or its end lets them go", async (t) => {
  const { host, bm, rows } = await legacyCloud(t, { machines: 2 });
  const lease = { host: "A", epoch: 1, heartbeat_ms: Date.now() - 2000, ttl_ms: 3600_000 };
  await ends(0, host(...PLAN));
  await bm("bm_service_leases").insert(lease);
  const moved = await ends(4, host(...MOVE));
  const lives = /N2I-E316 the agent of A renewed its lease \d+ s ago, which lasts 3600 s/;
  assert.match(moved.err, lives);
  const planned = await host(...PLAN, "-f", "json");
  assert.match(planned.out, /N2I-D251",\n.*the agent of A renewed its lease/);
  assert.match(planned.err, /1 blocked/);
  assert.equal((await rows()).machines[1], "2 A 0 - - |");
  await bm("bm_service_leases").update({ fenced_by: "B" });
  assert.doesNotMatch((await host(...PLAN, "-f", "json")).out, /N2I-D251/);
  await bm("bm_service_leases").update({ fenced_by: null, heartbeat_ms: 1 });
  await ends(0, host(...PLAN));
  // What an agent writes that comes back after the last look at its lease.
  await bm("bm_nodes").update({ service_heartbeat_ms: Date.now() });
  const back = await host(...MOVE);
  assert.notEqual(back.status, 0, back.out + back.err);
  assert.equal((await rows()).machines[0], "1 A 0 active - | A - 0");
  await bm("bm_nodes").update({ service_heartbeat_ms: 1 });
  await ends(0, host(...MOVE));
});

test("locks of a move that died are its run's, wherever that is by now, and not another's of the same path", async (t) => {
  const { host, folder, places, bm, rows } = await legacyCloud(t, { machines: 2 });
  const [run1, moved] = [join(folder, "runs", "h1"), join(folder, "runs", "elsewhere")];
  await ends(0, host(...PLAN.slice(0, -2), ...BRIEF));
  await killedAt("legacy.claimed:1", [...MOVE, "--run", run1, ...places]);
  const [lock] = await bm("bm_locks").where({ resource: "host:B" });
  assert.match(lock.owner, /^nova2ironic on .*, run [0-9a-f-]{36}$/);
  renameSync(run1, moved);
  await ends(0, host(...PLAN));
  await ends(11, host(...MOVE));
  await ends(0, host(...MOVE, "--run", moved));
  assert.equal((await rows()).machines[1], "2 B 1 - - |");
});
