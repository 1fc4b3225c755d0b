import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../../src/model/database.ts";
import { type Case, caseUuid } from "../../cases/case.ts";
import { loadIronic, loadNova, loadNovaBm } from "../../cases/load-case.ts";
import { ends, run } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { tenant } from "../../hostile/fleet.ts";
import { whileItWaits } from "../../lab/bmc/quick-clock.ts";
import { engines, test } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { checkTable } from "../../support/manual-tables.ts";
import { checked } from "./check-output.ts";

const CASE: Case = {
  shows: "two tenants and a free machine",
  nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
};
const INSTANCE = caseUuid("instance", 1);
const NODE = caseUuid("node", 1);
const MIGRATION = {
  ...{ source_compute: "compute-9", migration_type: "evacuation", status: "done" },
  ...{ instance_uuid: INSTANCE, deleted: 0 },
};

const NO_PLAN = [
  ...["Plan can be applied", "Privileges", "Instances planned and loaded", "Hosts of instances"],
  ...["Flavors", "Images", "Aggregates"],
];

/** Three databases, each with a user of its own. */
async function place(
  engine: Engine,
  t: TestContext,
  { rights = "SELECT, INSERT, UPDATE, DELETE", nova = {} } = {},
) {
  const folder = privateFolder(t);
  mkdirSync(join(folder, "run"), { mode: 0o700 });
  const given = { ...CASE, nova };
  const made: { option: string; db: Knex }[] = [];
  for (const [option, fill, may] of [
    ["--nova-bm-db", loadNovaBm, "SELECT"],
    ["--nova-db", loadNova, "SELECT"],
    ["--ironic-db", loadIronic, rights],
  ] as const) {
    const database = await withDatabase(engine, t);
    await fill(database.db, engine, given);
    if (option === "--nova-db")
      await database.db.schema.alterTable("migrations", (table) => {
        table.string("migration_type", 255);
      });
    const url =
      (await database.server?.restrictedUser("check", database.name, may))?.url ?? database.url;
    writeFileSync(join(folder, option), url, { mode: 0o600 });
    if (database.server === null && may === "SELECT") chmodSync(database.name, 0o400);
    made.push({ option, db: database.db });
  }
  const [bm, cloud, ironic] = made.map(({ db }) => db);
  assert.ok(bm && cloud && ironic);
  const words = made.flatMap(({ option }) => [option, `file:${join(folder, option)}`]);
  const at = ["--run", join(folder, "run")];
  return { words: ["check", ...at, ...words], bm, nova: cloud, ironic, folder };
}

/** Rows of --json by title, without those of this machine's pace. */
async function rowsOf(words: readonly string[]) {
  const { status, err, rows } = await checked([...words, "--watch", "1"]);
  const bad = [...rows.values()].filter(({ result }) => result > 0).map(({ check }) => check);
  return { status, bad, of: (title: string) => rows.get(title)?.details ?? "", err };
}

for (const engine of engines()) {
  test(`${engine}: what is ready passes all checks but the watch of a second`, async (t) => {
    const at = await place(engine, t);
    const found = await rowsOf(at.words);
    assert.deepEqual(found.bad.toSorted(), ["nova-compute stopped", ...NO_PLAN].toSorted());
    assert.match(found.of("Images"), /^Not compared with a plan: .*\/run is not a run\./);
    assert.equal(found.status, 1);
    assert.match(found.err, /"name":"Warning"/);
  });

  test(`${engine}: each wrong row of the three databases fails its check`, async (t) => {
    const at = await place(engine, t);
    await at.bm("bm_nodes").where({ id: 2 }).update({ instance_uuid: INSTANCE });
    await at
      .bm("bm_nodes")
      .where({ id: 3 })
      .update({ instance_uuid: "lost", task_state: "deploying" });
    await at.nova("instances").where({ uuid: INSTANCE }).update({ deleted: 1 });
    const kvm = { uuid: "another", host: "kvm-1", node: "kvm-1", deleted: 0 };
    await at.nova("instances").insert({ ...kvm, id: 99 });
    await at.nova("migrations").insert([MIGRATION, { ...MIGRATION, instance_uuid: "another" }]);
    await at
      .nova("block_device_mapping")
      .insert({
        ...{ device_name: "vda", delete_on_termination: false, deleted: 0, boot_index: 0 },
        ...{ instance_uuid: INSTANCE, volume_id: "v-1" },
      });
    await at
      .nova("instance_type_extra_specs")
      .insert({
        ...{ instance_type_id: 1, key: "baremetal:deploy_kernel_id", value: "old", deleted: 0 },
        ...(engine !== "postgresql" && { id: 9 }),
      });
    const node = { driver: "fake", maintenance: false, extra: "{}", console_enabled: false };
    const ours = { power_state: "power off", extra: '{"nova_bm": {"id": 1}}', maintenance: true };
    await at.ironic("nodes").insert([
      { ...node, ...ours, uuid: NODE, instance_uuid: INSTANCE },
      { ...node, uuid: caseUuid("node", 9) },
    ]);
    await at
      .ironic("conductors")
      .insert({
        ...{ hostname: "cond-1", drivers: "[]", online: true, updated_at: "2099-01-01 00:00:00" },
      });
    const { status, bad, of } = await rowsOf(at.words);
    assert.deepEqual(bad, [
      "Plan can be applied",
      ...["Privileges", "nova-compute stopped", "Deployments in flight", "Duplicate instances"],
      ...["Unmatched instances", "Instances planned and loaded", "Deleted instances"],
      ...["Hosts of instances", "Evacuation records", "Attached volumes"],
      ...["Flavors", "Images", "Aggregates"],
      ...["Target empty or ours", "Conductors stopped or staged", "Power state in maintenance"],
    ]);
    assert.equal(status, 2);
    assert.match(
      of("Evacuation records"),
      /^Evacuation records: nova-compute destroys .* \(1\): .*from compute-9/,
    );
    assert.match(of("Unmatched instances"), /bm_nodes\.id=3 lost is unknown to nova/);
    assert.match(of("Target empty or ours"), /\(2\): .*001 with our mark, .*000000000009\./);
  });

  test(`${engine}: a nova-compute that still reports is seen`, async (t) => {
    const at = await place(engine, t);
    const { status, out } = await whileItWaits(
      () => at.nova("services").increment("report_count", 1),
      () => run([...at.words, "--watch", "1"]),
    );
    assert.equal(status, 2, out);
    assert.match(
      out,
      /\| Check: nova-compute stopped +\|\n\| Result: Failure +\|\n\| Details: Hosts with a nova-compute that reports/,
    );
    assert.match(out, /systemctl stop nova-compute/);
  });
}

for (const engine of engines("mysql", "postgresql"))
  test(`${engine}: a user who may only read Ironic is told what is missing, and nothing is written`, async (t) => {
    const at = await place(engine, t, { rights: "SELECT" });
    const { status, of } = await rowsOf(at.words);
    assert.equal(status, 2);
    assert.match(of("Privileges"), /INSERT nodes, UPDATE nodes, DELETE nodes/);
    assert.deepEqual(await at.ironic("nodes"), []);
  });

test("sources of two releases fail the pairing until it is wanted", async (t) => {
  const at = await place("sqlite", t, { nova: { version: 234 } });
  assert.ok((await rowsOf(at.words)).bad.includes("Pairing of releases"));
  const wanted = await ends(1, run([...at.words, "--watch", "0", "--allow-pairing", "--all"]));
  assert.match(wanted.out, /^\+-+\+\n\| Upgrade Check Results +\|\n\+-+\+\n\| Check: Databases/);
});

test("a database that is another one is a row of the table; one that is not there ends with 255", async (t) => {
  const at = await place("sqlite", t);
  const other = at.words.map((word) => word.replace("/--nova-db", "/--ironic-db"));
  const { status, bad } = await rowsOf(other);
  assert.equal(status, 2);
  assert.equal(bad[0], "Databases and schema heads");
  writeFileSync(join(at.folder, "--nova-db"), "sqlite:////nowhere/nova.sqlite");
  await ends(255, run(at.words));
  await ends(255, run(["check", "--run", at.folder]));
  await ends(255, run([...at.words, "--watch", "9999999"]));
});

test("the exit statuses are nova-status's", () => {
  assert.deepEqual(
    [...checkTable().matchAll(/^\| (\d+) \| (\w+)/gm)].map(
      ([, status, name]) => `${status} ${name}`,
    ),
    ["0 Success", "1 Warning", "2 Failure", "255 Error"],
  );
});
