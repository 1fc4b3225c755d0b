import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, refused, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE, SMALL, tenant } from "../../hostile/fleet.ts";
import { planned } from "../../migrate/nova/walking.ts";
import { ago } from "../../takeover/cloud.ts";
import { finishedRun } from "./scene.ts";

const COMPUTE = { binary: "nova-compute" };
const STAGED = /no machine is staged: no, 1 machine waits for handover/;

test("nova_bm may not be dropped while a machine is blocked, skipped, staged or not as planned, and all of it is said at once", async (t) => {
  const building = tenant(3, { task_state: "building" });
  const nodes = [tenant(1), { id: 2 }, building, { id: 4, deleted: true }];
  const site = { ...SITE, machines: [...SITE.machines, { match: { id: 2 }, skip: "it stays" }] };
  const { at, source, reader, writer, plan, ironic, bm } = await deployFiles(t, {
    ...{ shows: "machines that stay", nova_bm: { nodes }, site },
    // The first Ironic that keeps the reason of a maintenance.
    ironic: { release: "kilo" },
  });
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "--allow-pairing", "-q"]);
  await runs(3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "--staged", "-q"]);
  const words = ["retire", ...at, ...source.slice(0, 2), ...reader];
  const out = /1 blocked, 1 skipped by the site document: only nova_bm has them/;
  await refused([...words, "-q"], 4, "N2I-E340", [out, /finish has not ended it/, STAGED]);
  await ironic.db("nodes").update({ properties: "{}" });
  await bm.db("bm_nodes").where({ id: 1 }).update({ pm_password: "changed" });
  const changed = /since extract bm_nodes\.id=1 was changed/;
  const differs = [/not as planned: node \S+ mismatched/, changed];
  const { err } = await refused([...words, "-q"], 4, "N2I-E340", differs);
  assert.doesNotMatch(err, /"changed"/);
});

test("nova_bm may not be dropped while a nova-compute of nova-baremetal reports, or from another nova_bm", async (t) => {
  const { words, nova, source, at, reader } = await finishedRun("sqlite", t, SMALL);
  const beside = [...words, ...source.slice(2, 4), "-q"];
  await nova
    .db("services")
    .where(COMPUTE)
    .update({ updated_at: ago(0) });
  await refused(beside, 4, "N2I-E340", [/nova-compute reported from compute-1/]);
  await nova.db("compute_nodes").update({ deleted: 1 });
  await runs(0, beside);
  const other = await deployFiles(t, SMALL);
  const wrong = ["retire", ...at, ...other.source.slice(0, 2), ...reader, "-q"];
  await refused(wrong, 4, "N2I-E340", [/a different nova_bm was read/]);
});

test("where the plan has Nova, retire without Nova does not hold", async (t) => {
  const made = await planned(t);
  const { at, source, writer, nova } = made;
  await ends(0, made.act(["apply"]));
  await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
  await nova
    .db("services")
    .where(COMPUTE)
    .update({ updated_at: ago(0) });
  // The run knows where Nova is.
  const words = ["retire", ...at, ...source.slice(0, 2)];
  await refused([...words, "-q"], 4, "N2I-E340", [/nova-compute reported from/]);
  const shown = await refused([...words, "--without", "nova-db", "-q"], 4, "N2I-E340");
  const missing = "the plan changes Nova, but its location is missing";
  assert.equal(shown.err.replaceAll(/\s+/g, " ").split(missing).length, 1 + 2, shown.err);
  await nova.db("compute_nodes").update({ deleted: 1 });
  assert.match((await runs(0, [...words, "-q"])).out, /^DROP TABLE migrate_version;$/m);
});
