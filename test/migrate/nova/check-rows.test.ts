import assert from "node:assert/strict";
import { cpSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { type Case, caseUuid } from "../../../src/demo/case.ts";
import { loadNovaApi } from "../../../src/demo/load-case.ts";
import { ends, runs } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { withDatabase } from "../../lab/index.ts";
import { listening } from "../../support/listening.ts";
import { checkRows } from "./check-output.ts";
import { placementDatabase } from "./placement.ts";
import { plannedCloud } from "./planned.ts";

const [NODE, INSTANCE] = [caseUuid("node", 1), caseUuid("instance", 1)];

test("the rows follow a run from its plan to its load, and a copy of it is another run", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const planned = await checkRows(made);
  assert.match(planned("Instances planned and loaded"), /^Success: 4 in nova_bm, 4 in the plan, 0/);
  // The flavor with one image of two is left alone by the plan; the others it changes.
  assert.match(planned("Flavors"), /^Warning: 1 .*: half metal\./);
  // Nova reads a deleted flavor, too, where an instance has it.
  const tenants = made.nova.db("instances").where({ id: 2 });
  const [had] = await tenants.clone().select("instance_type_id");
  await tenants.clone().update({ instance_type_id: 4 });
  assert.match((await checkRows(made))("Flavors"), /^Warning: 2 .*: unused metal, half metal\./);
  await tenants.clone().update(had);
  assert.match(planned("Aggregates"), /^Success/);
  assert.match(planned("Images"), /^Success: Each is named/);
  for (const later of ["Instance mappings", "Allocations"])
    assert.match(planned(later), /^Success: Nova of juno needs none/);
  const conf = join(made.folder, "old-host.conf");
  writeFileSync(conf, "[DEFAULT]\nhost = compute-1\n");
  const { err } = await runs(2, ["config", ...made.at, "--nova-conf", conf]);
  assert.match(err, /^Wrong: \[DEFAULT\] host must be ironic-compute, .* has compute-1\.$/m);
  await ends(0, made.act(["apply"]));
  const loaded = await checkRows(made);
  assert.match(loaded("Target empty or ours"), /^Success: 4 nodes, all loaded by this run/);
  assert.match(loaded("Instances planned and loaded"), /^Success: 4 .*, 4 in Ironic/);
  await made.ironic.db("nodes").where({ uuid: NODE }).update({ instance_uuid: null });
  assert.match(
    (await checkRows(made))("Instances planned and loaded"),
    /^Failure: 1 .*bm_nodes\.id=1 has .*, none in Ironic/,
  );
  const copy = join(made.folder, "runs", "copy");
  await runs(0, ["extract", "--run", copy, ...made.source, "-q"]);
  cpSync(realpathSync(join(made.run, "plan")), join(copy, "plan"), { recursive: true });
  const other = await checkRows({ ...made, at: ["--run", copy] });
  assert.match(other("Target empty or ours"), /^Failure: 4 .* with our mark/);
});

test("Glance is asked for images by their ids, and what it does not tell is a row", async (t) => {
  const made = await deployFiles(t, {
    shows: "two tenants and a free machine",
    nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
    site: SITE,
  });
  await extractAndPlan(made);
  const asked: string[] = [];
  let kernel = "active";
  const glance = createServer(({ url = "" }, answer) => {
    const id = url.replace("/v2/images/", "");
    asked.push(id);
    answer.writeHead(id.endsWith("c") ? 404 : 200, { "Content-Type": "application/json" });
    answer.end(JSON.stringify({ id, status: id.startsWith("f") ? kernel : "active" }));
  });
  const bare = { OS_AUTH_TYPE: "none" };
  const env = { ...bare, OS_IMAGE_ENDPOINT_OVERRIDE: await listening(t, glance) };
  const images = async () => (await checkRows(made, ["--glance"], env))("Images");
  // The ramdisk that the tenants were made with is gone.
  assert.match(await images(), /^Warning: 1 images of tenants .*000c is not there/);
  assert.deepEqual(asked.length, new Set(asked).size);
  assert.equal(asked.length, 5);
  kernel = "queued";
  assert.match(await images(), /^Failure: 2 deploy images .*is queued/);
  assert.match(
    (await checkRows(made, ["--glance"], bare))("Images"),
    /^Warning: Glance could not be asked: N2I-E106/,
  );
  assert.match((await checkRows(made))("Images"), /^Success: .*Glance was not asked/);
});

test("databases of later Novas are asked for mappings, allocations and providers", async (t) => {
  const given: Case = {
    shows: "two tenants on a Nova with cells",
    nova_bm: { nodes: [tenant(1), tenant(2)] },
    ironic: { release: "2023.1" },
    ...{ allow_pairing: true, site: SITE },
  };
  const made = await deployFiles(t, given);
  const [api, placement] = [await withDatabase("sqlite", t), await placementDatabase(t)];
  await loadNovaApi(api.db, "sqlite", { flavors: [], extra_specs: [] });
  const mappings = () => api.db("instance_mappings");
  const providers = () => placement.db("resource_providers");
  const allocations = () => placement.db("allocations");
  await made.nova.db.schema.alterTable("compute_nodes", (table) => {
    table.string("uuid");
  });
  const mapping = { instance_uuid: INSTANCE.toUpperCase(), project_id: "p" };
  await mappings().insert(mapping);
  await providers().insert({ id: 2, uuid: "p-2", name: caseUuid("node", 2) });
  const allocation = { consumer_id: caseUuid("instance", 2), resource_provider_id: 2 };
  await allocations().insert(allocation);
  const words = ["--nova-api-db", api.url];
  const both = [...words, "--placement-db", placement.url];
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const open = await checkRows(made);
  assert.match(open("Instance mappings"), /^Warning: Not looked at.*--nova-api-db/s);
  assert.match(open("Boot from the network"), /^Failure: 2 .*N2I-D403/s);
  const asked = await checkRows(made, both);
  // SQLite compares exactly, and Nova writes lower case.
  assert.match(asked("Instance mappings"), /^Failure: 2 .*map_instances/s);
  assert.match(
    asked("Allocations"),
    new RegExp(`^Failure: 1 .*: ${INSTANCE} .*no provider.*heal`, "s"),
  );
  await allocations().update({ resource_provider_id: 9 });
  await providers().insert({ id: 9, uuid: "p-9", name: "kvm-1" });
  assert.match(
    (await checkRows(made, both))("Allocations"),
    /^Failure: 1 .*-000000000002 on kvm-1, its machine is .*allocation delete/s,
  );
  await mappings().update({ instance_uuid: INSTANCE });
  await mappings().insert({
    ...{ instance_uuid: caseUuid("instance", 2), project_id: "p", cell_id: 1 },
  });
  assert.match(
    (await checkRows(made, both))("Instance mappings"),
    new RegExp(`^Failure: 1 .*name no cell.*: ${INSTANCE}\\.\nFix: UPDATE`),
  );
  await providers().insert({ id: 1, uuid: "p-1", name: NODE });
  await made.nova.db("compute_nodes").where({ hypervisor_hostname: NODE }).update({ uuid: "c-1" });
  assert.match(
    (await checkRows(made, both))("Allocations"),
    /^Failure: 1 .*provider p-1 of node .*, whose compute node is c-1/,
  );
  const swapped = await checkRows(made, ["--nova-api-db", placement.url]);
  assert.match(swapped("Databases and schema heads"), /^Failure: N2I-E202 --nova-api-db/);
  assert.match(swapped("Instance mappings"), /^Warning: Not looked at/);
});
