import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { type Case, caseUuid } from "../../cases/case.ts";
import { loadNovaApi } from "../../cases/load-case.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan, load } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { withDatabase } from "../../lab/index.ts";
import { listening } from "../../support/listening.ts";
import { checkRows, checkSays } from "./check-output.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { laterCloud } from "./later.ts";
import { placementDatabase } from "./placement.ts";
import { plannedCloud } from "./planned.ts";

const [NODE, INSTANCE] = [caseUuid("node", 1), caseUuid("instance", 1)];

test("the rows follow a run from its plan to its load, and a copy of it is another run", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const planned = await checkRows(made);
  assert.match(planned("Instances planned and loaded"), /^Success: 4 in nova_bm, 4 in the plan, 0/);
  // The flavor with one image of two is left alone by the plan; the others it changes.
  assert.match(planned("Flavors"), /^Warning: .* \(1\): half metal\./);
  // Nova reads a deleted flavor, too, where an instance has it.
  const tenants = made.nova.db("instances").where({ id: 2 });
  const [had] = await tenants.clone().select("instance_type_id");
  await tenants.clone().update({ instance_type_id: 4 });
  await checkSays(made, "Flavors", /^Warning: .* \(2\): unused metal, half metal\./);
  await tenants.clone().update(had);
  assert.match(planned("Aggregates"), /^Success/);
  assert.match(planned("Images"), /^Success: Each image is specified/);
  for (const later of ["Instance mappings", "Allocations"])
    assert.match(planned(later), /^Success: Nova in juno does not require it/);
  const conf = join(made.folder, "old-host.conf");
  writeFileSync(conf, "[DEFAULT]\nhost = compute-1\n");
  const { err } = await runs(2, ["config", ...made.at, "--nova-conf", conf]);
  assert.match(err, /^Wrong: \[DEFAULT\] host must be ironic-compute, .* has compute-1\.$/m);
  await ends(0, made.act(["apply"]));
  const loaded = await checkRows(made);
  assert.match(loaded("Target empty or ours"), /^Success: 4 nodes, all loaded by this run/);
  assert.match(loaded("Instances planned and loaded"), /^Success: 4 .*, 4 in Ironic/);
  await made.ironic.db("nodes").where({ uuid: NODE }).update({ instance_uuid: null });
  await checkSays(
    made,
    "Instances planned and loaded",
    /^Failure: .* \(1\): .*bm_nodes\.id=1 has .*, none in Ironic/,
  );
  const copy = join(made.folder, "runs", "copy");
  await runs(0, ["extract", "--run", copy, ...made.source, "-q"]);
  cpSync(realpathSync(join(made.run, "plan")), join(copy, "plan"), { recursive: true });
  const other = await checkRows({ ...made, at: ["--run", copy] });
  assert.match(other("Target empty or ours"), /^Failure: .* \(4\): .* with our mark/);
});

test("check finds an instance whose uuid nova spells in another case", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const uuid = INSTANCE.toUpperCase();
  assert.notEqual(uuid, INSTANCE);
  await made.nova.db("instances").where({ uuid: INSTANCE }).update({ uuid });
  await checkSays(made, "Unmatched instances", /^Success/);
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
  assert.match(await images(), /^Warning: Images of tenants.* \(1\): .*000c does not exist/);
  assert.deepEqual(asked.length, new Set(asked).size);
  assert.equal(asked.length, 5);
  kernel = "queued";
  assert.match(await images(), /^Failure: Deploy images.* \(2\): .*is queued/);
  assert.match(
    (await checkRows(made, ["--glance"], bare))("Images"),
    /^Warning: Glance could not be read: N2I-E106/,
  );
  await checkSays(made, "Images", /^Success: .*was not checked \(--glance\)/);
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
  assert.match(open("Instance mappings"), /^Warning: Not checked\..*--nova-api-db/s);
  assert.match(open("Boot from the network"), /^Failure: .* \(2\): .*N2I-D403/s);
  const asked = await checkRows(made, both);
  // SQLite compares exactly, and Nova writes lower case.
  assert.match(asked("Instance mappings"), /^Failure: .* \(2\): .*map_instances/s);
  assert.match(
    asked("Allocations"),
    new RegExp(`^Failure: .* \\(1\\): ${INSTANCE} .*no provider.*heal`, "s"),
  );
  await allocations().update({ resource_provider_id: 9 });
  await providers().insert({ id: 9, uuid: "p-9", name: "kvm-1" });
  await checkSays(
    made,
    "Allocations",
    /^Failure: .* \(1\): .*-000000000002 on kvm-1, its machine is .*allocation delete/s,
    both,
  );
  await mappings().update({ instance_uuid: INSTANCE });
  await mappings().insert({
    ...{ instance_uuid: caseUuid("instance", 2), project_id: "p", cell_id: 1 },
  });
  await checkSays(
    made,
    "Instance mappings",
    new RegExp(`^Failure: .*have no cell.* \\(1\\): ${INSTANCE}\\.\nFix: UPDATE`),
    both,
  );
  await providers().insert({ id: 1, uuid: "p-1", name: NODE });
  await made.nova.db("compute_nodes").where({ hypervisor_hostname: NODE }).update({ uuid: "c-1" });
  await checkSays(
    made,
    "Allocations",
    /^Failure: .* \(1\): .*provider p-1 of node .*, whose compute node is c-1/,
    both,
  );
  const swapped = await checkRows(made, ["--nova-api-db", placement.url]);
  assert.match(swapped("Databases and schema heads"), /^Failure: N2I-E202 --nova-api-db/);
  assert.match(swapped("Instance mappings"), /^Warning: Not checked/);
});

test("flavors of nova_api are looked at there, by the plan that changes them", async (t) => {
  // A Juno Ironic beside a Train Nova: its flavors' images count, and they are in nova_api.
  const given = cloud({ machines: 2, others: 3, version: 402 });
  const made = await laterCloud("sqlite", t, IMAGES, given);
  const blind = await checkRows(made);
  assert.match(blind("Flavors"), /^Warning: .*in nova_api, which was not read.*--nova-api-db/s);
  assert.match(blind("Privileges"), /^Warning: .*not checked\..*specify --nova-api-db$/s);
  // The plan has the word for another pairing.
  assert.match(blind("Pairing of releases"), /^Warning: nova 402/);
  const rows = await checkRows(made, made.apiWriter);
  // The data migration of Nova has left one in nova; those of nova_api are all changed.
  assert.match(rows("Flavors"), /^Warning: .* \(1\): half metal\./);
  assert.match(rows("Privileges"), /^Success: null/);
  assert.match(rows("Images"), /^Success: Each image is specified/);
  assert.match(rows("Instance mappings"), /^Failure: .* \(2\): /);
  await made.api
    .db("flavor_extra_specs")
    .insert({ ...{ id: 90, flavor_id: 3, key: "baremetal:deploy_kernel_id", value: "old" } });
  await checkSays(
    made,
    "Flavors",
    /^Warning: .* \(2\): half metal, old metal\.\nFix: nova2ironic plan --nova-db DB --nova-api-db DB/,
    made.apiWriter,
  );
});

test("machines that are skipped, and findings that are accepted, are listed and fail nothing", async (t) => {
  const made = await deployFiles(t, {
    shows: "a machine whose instance is deleted, one amid its deployment, and a good one",
    nova_bm: { nodes: [tenant(1), tenant(2, { task_state: "deploying" }), tenant(3)] },
    nova: {
      instances: [1, 2, 3].map((id) => ({
        uuid: caseUuid("instance", id),
        ...(id === 1 && { deleted: 1 }),
        ...(id === 2 && { task_state: "spawning" }),
      })),
    },
    site: {
      ...SITE,
      machines: [
        ...SITE.machines,
        { match: { id: 1 }, accept: [{ finding: "N2I-D202", reason: "it is to be kept" }] },
        { match: { id: 2 }, skip: "goes back to the vendor" },
      ],
    },
  });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const before = await checkRows(made);
  assert.match(before("Deleted instances"), /^Failure: Machines .* \(1\): /);
  assert.match(before("Deployments in flight"), /^Failure: .* \(2\): /);
  await runs(0, ["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
  const planned = await checkRows(made);
  assert.match(
    planned("Deleted instances"),
    /^Warning: .*, as you accepted \(1\): bm_nodes\.id=1 .*\.\nFix: /,
  );
  assert.match(
    planned("Deployments in flight"),
    /^Success: bm_nodes\.id=2 deploying, instance .*02 spawning \(skipped by the site document\)\.$/,
  );
  await runs(0, ["apply", ...made.at, ...made.writer, "-q", "--yes"]);
  // Nova's reap finds nothing: maintenance alone would not hold it.
  const [kept] = await made.ironic.db("nodes").where({ uuid: caseUuid("node", 1) });
  assert.deepEqual([kept?.instance_uuid, kept?.maintenance], [null, 1]);
  assert.equal(JSON.parse(kept?.extra).nova_bm.instance_uuid, caseUuid("instance", 1));
  await checkSays(
    made,
    "Instances planned and loaded",
    /^Warning: .* \(1\): .*bm_nodes\.id=1 \S+ \(N2I-D202\)\.\n.*\n3 in nova_bm, 1 in the plan, 1 skipped/,
  );
  await made.ironic
    .db("nodes")
    .where({ id: kept?.id })
    .update({ instance_uuid: caseUuid("instance", 1) });
  await checkSays(made, "Instances planned and loaded", /^Failure: .*nova no longer has it/);
  await made.nova.db("instances").where({ id: 3 }).update({ task_state: "rebuilding" });
  await checkSays(made, "Deployments in flight", /^Failure: .* \(1\): .*03 rebuilding\.\n/);
});

test("a claim that nova gives to another machine warns once it is accepted, and the load is told right", async (t) => {
  const accept = [{ finding: "N2I-D103", reason: "it was wiped" }];
  const made = await deployFiles(t, {
    shows: "two machines",
    nova_bm: { nodes: [tenant(1), { id: 2 }] },
    site: { ...SITE, machines: [...SITE.machines, { match: { id: 2 }, accept }] },
  });
  const claim = { instance_uuid: caseUuid("instance", 1), task_state: "active" };
  await made.bm.db("bm_nodes").where({ id: 2 }).update(claim);
  await load(made);
  const rows = await checkRows(made);
  assert.match(rows("Duplicate instances"), /^Warning: .*as you accepted \(1\): /);
  assert.match(rows("Unmatched instances"), /^Success/);
  assert.match(
    rows("Instances planned and loaded"),
    /^Warning: .* \(1\): .*id=2 .*N2I-D103.*1 in Ironic/s,
  );
});

test("databases are compared with those of the plan, also of another run's folder", async (t) => {
  const made = await plannedCloud("sqlite", t, ["--compute-host", "compute-1=iron", ...IMAGES]);
  const rows = await checkRows(made);
  assert.match(rows("Databases and schema heads"), /^Success/);
  // Another run's folder, for databases that are not its own.
  const other = await deployFiles(t, cloud({ machines: 1, others: 0 }));
  const foreign = await checkRows({ ...other, at: made.at });
  assert.match(
    foreign("Databases and schema heads"),
    /^Warning: Databases.* \(3\): --nova-bm-db, address was .*\. Also check --run$/s,
  );
});

test("before there is a run, what needs none is looked at, and none is made", async (t) => {
  const made = await deployFiles(t, {
    shows: "a tenant",
    nova_bm: { nodes: [tenant(1, { task_state: "deploying" })] },
  });
  const nowhere = join(made.folder, "not", "yet");
  const rows = await checkRows({ ...made, at: ["--run", nowhere] });
  assert.match(rows("Deployments in flight"), /^Failure: .* \(1\): /);
  assert.match(rows("Instances planned and loaded"), /^Warning: .*extract, then nova2ironic plan/s);
  assert.match(rows("Disk space of the run"), /^Success: \d+ MiB free in .*not\/yet/);
  assert.match(rows("Target empty or ours"), /^Success/);
  assert.ok(!existsSync(join(made.folder, "not")));
  // A folder that is no run's is told as such, and nobody is told to close it.
  const wrong = join(made.folder, "wrong");
  mkdirSync(wrong);
  // Whatever the umask is.
  chmodSync(wrong, 0o755);
  writeFileSync(join(wrong, "notes.txt"), "of somebody else");
  const other = await checkRows({ ...made, at: ["--run", wrong] });
  assert.match(
    other("Images"),
    /^Warning: Not compared .*\/wrong is not a run\.\nFix: correct --run, .*\nEach image is specified/,
  );
  writeFileSync(join(wrong, "snapshot.jsonl"), "of a run");
  const sides = [...made.source.slice(0, 4), ...made.reader];
  const { status, err } = await run(["check", "--run", wrong, ...sides]);
  assert.equal(status, 255);
  assert.match(err, /N2I-E110 .*is open to other users.*chmod 700/s);
});
