import assert from "node:assert/strict";
import { cpSync, realpathSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { type Case, caseUuid } from "../../src/demo/case.ts";
import { loadNovaApi } from "../../src/demo/load-case.ts";
import { sqliteFile } from "../../src/demo/write-case.ts";
import { ends, run, runs } from "../hostile/cli.ts";
import { type Deployment, deploy, deployFiles } from "../hostile/deployment.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { connect } from "../lab/connect.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";

const [NODE, INSTANCE] = [caseUuid("node", 1), caseUuid("instance", 1)];

/** What each row says: `Success: ...`. */
async function rowsOf(
  { at, source, reader, novaWriter }: Deployment,
  more: readonly string[] = [],
  { writes = false, env = {} } = {},
): Promise<(title: string) => string> {
  const nova = writes ? novaWriter.slice(0, 2) : source.slice(2, 4);
  const words = ["check", ...at, ...source.slice(0, 2), ...nova, ...reader, "--watch", "0"];
  const { out, err, status } = await run([...words, "--json", ...more], { env });
  assert.notEqual(status, 255, err);
  const { checks } = JSON.parse(out) as {
    checks: { check: string; result: number; details: string | null }[];
  };
  const of = new Map(checks.map((row) => [row.check, row]));
  return (title) => {
    const row = of.get(title);
    return `${["Success", "Warning", "Failure"][row?.result ?? -1]}: ${row?.details}`;
  };
}

testOnce(
  "the rows follow a run from its plan to its load, and a copy of it is another run",
  async (t) => {
    const made = await plannedCloud("sqlite", t);
    const planned = await rowsOf(made);
    assert.match(
      planned("Instances planned and loaded"),
      /^Success: 4 in nova_bm, 4 in the plan, 0/,
    );
    // The flavor with one image of two is left alone by the plan; the others it changes.
    assert.match(planned("Flavors"), /^Warning: 1 .*: half metal\./);
    // Nova reads a deleted flavor, too, where an instance has it.
    const tenants = made.nova.db("instances").where({ id: 2 });
    const [had] = await tenants.clone().select("instance_type_id");
    await tenants.clone().update({ instance_type_id: 4 });
    assert.match((await rowsOf(made))("Flavors"), /^Warning: 2 .*: unused metal, half metal\./);
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
    const loaded = await rowsOf(made);
    assert.match(loaded("Target empty or ours"), /^Success: 4 nodes, all loaded by this run/);
    assert.match(loaded("Instances planned and loaded"), /^Success: 4 .*, 4 in Ironic/);
    await made.ironic.db("nodes").where({ uuid: NODE }).update({ instance_uuid: null });
    assert.match(
      (await rowsOf(made))("Instances planned and loaded"),
      /^Failure: 1 .*bm_nodes\.id=1 has .*, none in Ironic/,
    );
    const copy = join(made.folder, "runs", "copy");
    await runs(0, ["extract", "--run", copy, ...made.source, "-q"]);
    cpSync(realpathSync(join(made.run, "plan")), join(copy, "plan"), { recursive: true });
    const other = await rowsOf({ ...made, at: ["--run", copy] });
    assert.match(other("Target empty or ours"), /^Failure: 4 .* with our mark/);
  },
);

testOnce(
  "Glance is asked for images by their ids, and what it does not tell is a row",
  async (t) => {
    const made = await deployFiles(t, {
      shows: "two tenants and a free machine",
      nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
      site: SITE,
    });
    await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
    await runs(0, ["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
    const asked: string[] = [];
    let kernel = "active";
    const glance = http.createServer(({ url = "" }, answer) => {
      const id = url.replace("/v2/images/", "");
      asked.push(id);
      answer.writeHead(id.endsWith("c") ? 404 : 200, { "Content-Type": "application/json" });
      answer.end(JSON.stringify({ id, status: id.startsWith("f") ? kernel : "active" }));
    });
    await new Promise<void>((ready) => glance.listen(0, "127.0.0.1", ready));
    t.after(() => glance.close());
    const address = glance.address();
    assert.ok(address !== null && typeof address === "object");
    const env = {
      ...{ OS_AUTH_TYPE: "none", OS_IMAGE_ENDPOINT_OVERRIDE: `http://127.0.0.1:${address.port}` },
    };
    const images = async () => (await rowsOf(made, ["--glance"], { env }))("Images");
    // The ramdisk that the tenants were made with is gone.
    assert.match(await images(), /^Warning: 1 images of tenants .*000c is not there/);
    assert.deepEqual(asked.length, new Set(asked).size);
    assert.equal(asked.length, 5);
    kernel = "queued";
    assert.match(await images(), /^Failure: 2 deploy images .*is queued/);
    assert.match(
      (await rowsOf(made, ["--glance"], { env: { OS_AUTH_TYPE: "none" } }))("Images"),
      /^Warning: Glance could not be asked: N2I-E106/,
    );
    assert.match((await rowsOf(made))("Images"), /^Success: .*Glance was not asked/);
  },
);

testOnce(
  "databases of later Novas are asked for mappings, allocations and providers",
  async (t) => {
    const given: Case = {
      shows: "two tenants on a Nova with cells",
      nova_bm: { nodes: [tenant(1), tenant(2)] },
      ironic: { release: "2023.1" },
      ...{ allow_pairing: true, site: SITE },
    };
    const made = await deployFiles(t, given);
    const files = ["api", "placement"].map((name) => join(made.folder, `${name}.sqlite`));
    const [api, placement] = files.map((file) => sqliteFile(file));
    assert.ok(api && placement);
    await loadNovaApi(api, "sqlite", { flavors: [], extra_specs: [] });
    await placement.schema.createTable("allocations", (table) => {
      table.string("consumer_id");
      table.integer("resource_provider_id");
    });
    await placement.schema.createTable("resource_providers", (table) => {
      table.integer("id");
      table.string("uuid");
      table.string("name");
    });
    await made.nova.db.schema.alterTable("compute_nodes", (table) => {
      table.string("uuid");
    });
    const mapping = { instance_uuid: INSTANCE.toUpperCase(), project_id: "p" };
    await api("instance_mappings").insert(mapping);
    await placement("resource_providers").insert({ id: 2, uuid: "p-2", name: caseUuid("node", 2) });
    const allocation = { consumer_id: caseUuid("instance", 2), resource_provider_id: 2 };
    await placement("allocations").insert(allocation);
    for (const db of [api, placement]) await db.destroy();
    const words = ["--nova-api-db", `sqlite:///${files[0]}`];
    const both = [...words, "--placement-db", `sqlite:///${files[1]}`];
    await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
    const open = await rowsOf(made);
    assert.match(open("Instance mappings"), /^Warning: Not looked at.*--nova-api-db/s);
    assert.match(open("Boot from the network"), /^Failure: 2 .*N2I-D403/s);
    const asked = await rowsOf(made, both);
    // SQLite compares exactly, and Nova writes lower case.
    assert.match(asked("Instance mappings"), /^Failure: 2 .*map_instances/s);
    assert.match(
      asked("Allocations"),
      new RegExp(`^Failure: 1 .*: ${INSTANCE} .*no provider.*heal`, "s"),
    );
    const nowhere = { host: "", port: 0, user: "", password: "" };
    const again = connect({ ...nowhere, engine: "sqlite", database: files[1] ?? "" });
    await again("allocations").update({ resource_provider_id: 9 });
    await again("resource_providers").insert({ id: 9, uuid: "p-9", name: "kvm-1" });
    assert.match(
      (await rowsOf(made, both))("Allocations"),
      /^Failure: 1 .*-000000000002 on kvm-1, its machine is .*allocation delete/s,
    );
    const claims = connect({ ...nowhere, engine: "sqlite", database: files[0] ?? "" });
    await claims("instance_mappings").update({ instance_uuid: INSTANCE });
    await claims("instance_mappings").insert({
      ...{ instance_uuid: caseUuid("instance", 2), project_id: "p", cell_id: 1 },
    });
    await claims.destroy();
    assert.match(
      (await rowsOf(made, both))("Instance mappings"),
      new RegExp(`^Failure: 1 .*name no cell.*: ${INSTANCE}\\.\nFix: UPDATE`),
    );
    await again("resource_providers").insert({ id: 1, uuid: "p-1", name: NODE });
    await again.destroy();
    await made.nova
      .db("compute_nodes")
      .where({ hypervisor_hostname: NODE })
      .update({ uuid: "c-1" });
    assert.match(
      (await rowsOf(made, both))("Allocations"),
      /^Failure: 1 .*provider p-1 of node .*, whose compute node is c-1/,
    );
    const swapped = await rowsOf(made, ["--nova-api-db", `sqlite:///${files[1]}`]);
    assert.match(swapped("Databases and schema heads"), /^Failure: N2I-E202 --nova-api-db/);
    assert.match(swapped("Instance mappings"), /^Warning: Not looked at/);
  },
);

for (const engine of engines("mysql", "postgresql"))
  test(`${engine}: rights on Nova's rows and on children of nodes are asked for`, async (t) => {
    const given = cloud({ machines: 1, others: 0, release: "2023.1" });
    const made = await deploy(engine, t, given);
    const { at, source, reader, writer, ironic, users } = made;
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const nova = [...source.slice(2, 4), ...IMAGES];
    await runs(0, ["plan", ...at, ...reader, ...nova, ...made.plan, "-q"]);
    const both = { ...made, reader: writer };
    assert.match((await rowsOf(both, [], { writes: true }))("Privileges"), /^Success/);
    assert.match(
      (await rowsOf(both))("Privileges"),
      /^Failure: \d .*UPDATE instance_type_extra_specs.*GRANT/s,
    );
    const children = engine === "mysql" ? 3 : 5;
    const lacking = new RegExp(
      `^Failure: ${6 + children} .*INSERT nodes, .* and ${3 + children} more`,
    );
    assert.match((await rowsOf(made))("Privileges"), lacking);
    if (engine === "mysql") return;
    await ironic.db.raw(`REVOKE DELETE ON node_history FROM "${users.writer}"`);
    assert.match((await rowsOf(both))("Privileges"), /^Failure: 1 .*: DELETE node_history\./);
  });
