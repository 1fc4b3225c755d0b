import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Knex } from "knex";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { connect } from "../lab/connect.ts";
import { addBond, addCard, addRunning, type InMemory, inMemory, uuidOf } from "./in-memory.ts";
import { writes } from "./scene.ts";

async function onFile(file: string, work: (db: Knex) => Promise<unknown>): Promise<void> {
  const db = connect({ engine: "sqlite", database: file });
  await work(db);
  await db.destroy();
}

const list = ["node", "list", "--adoptable", "-f", "json"] as const;

const NODE_COLUMNS = [
  ...["name", "power_state", "provision_state", "instance_uuid", "resource_class"],
  ...["maintenance BOOLEAN", "maintenance_reason", "last_error", "created_at"],
  ...["properties", "instance_info", "extra"],
];
const NEWER = ["allocation_id INTEGER", "retired BOOLEAN"];

/** What an Ironic in memory tells, as rows of its database; a release before Stein has fewer columns. */
async function rowsOf(t: TestContext, cloud: InMemory, isOld = false): Promise<string> {
  const file = join(privateFolder(t), "ironic.sqlite");
  const text = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  await onFile(file, async (db) => {
    const table = (name: string, columns: readonly string[]) => {
      const typed = columns.map((column) => (/ /.test(column) ? column : `${column} TEXT`));
      return db.raw(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY, uuid TEXT, ${typed.join()})`);
    };
    await table("nodes", isOld ? NODE_COLUMNS : [...NODE_COLUMNS, ...NEWER]);
    const card = ["address", "node_id INTEGER", "internal_info", "extra"];
    await table("ports", card);
    if (!isOld) {
      await table("portgroups", [...card, "mode"]);
      await table("allocations", ["name"]);
      await db("allocations").insert({ id: 7, uuid: uuidOf(6, 7) });
    }
    const ids = new Map<unknown, number>();
    for (const [at, node] of [...cloud.nodes.values()].entries()) {
      const { uuid, name, power_state, provision_state, instance_uuid, resource_class } = node;
      const { maintenance, maintenance_reason, last_error, allocation_uuid, retired } = node;
      ids.set(uuid, at + 1);
      await db("nodes").insert({
        ...{ id: at + 1, uuid, name, power_state, provision_state, instance_uuid, resource_class },
        ...{ maintenance, maintenance_reason, last_error, created_at: "2026-01-01 00:00:00" },
        ...{ properties: text(node.properties), instance_info: text(node.instance_info) },
        extra: text(node.extra),
        ...(!isOld && { retired, allocation_id: allocation_uuid === null ? null : 7 }),
      });
    }
    for (const kind of isOld ? (["ports"] as const) : (["ports", "portgroups"] as const))
      for (const { uuid, address, node_uuid, internal_info, extra, mode } of cloud[kind].values())
        await db(kind).insert({
          ...{ uuid, address, node_id: ids.get(node_uuid), ...(kind === "portgroups" && { mode }) },
          ...{ internal_info: text(internal_info), extra: text(extra) },
        });
  });
  return `sqlite:///${file}`;
}

async function nodes(t: TestContext) {
  const cloud = await inMemory(t);
  addRunning(cloud, 1, { instance_info: { image_source: "http://u:s3cret@i/x" } });
  addRunning(cloud, 2, { instance_uuid: uuidOf(9, 2) });
  addRunning(cloud, 3, { resource_class: null, retired: true });
  addRunning(cloud, 4, { provision_state: "available", power_state: null });
  addRunning(cloud, 5, { maintenance: true, maintenance_reason: "a fan" });
  addRunning(cloud, 6, { last_error: "a BMC was slow" });
  addRunning(cloud, 7, { allocation_uuid: uuidOf(6, 7) });
  addRunning(cloud, 8, { extra: { nova2ironic_manage: uuidOf(7, 8) } });
  addCard(cloud, uuidOf(1, 6), 66, { extra: { vif_port_id: uuidOf(3, 1) } });
  addBond(cloud, 6);
  return cloud;
}

test("Ironic's database lists what its API lists, and why not of the others", async (t) => {
  const cloud = await nodes(t);
  const rows = ["--ironic-db", await rowsOf(t, cloud)];
  for (const words of [list, [...list, "--all"]]) {
    const asked = await runs(0, [...words, ...cloud.words], cloud.how);
    const read = await runs(0, [...words, ...rows], cloud.how);
    assert.deepEqual(JSON.parse(read.out), JSON.parse(asked.out));
    // A database is asked by no login.
    assert.equal(read.err, asked.err.replace(/ A project's login sees [^.]*\./, ""));
    assert.ok(!read.out.includes("s3cret"));
  }
  const { out } = await runs(0, [...list, "--all", ...rows]);
  assert.match(out, /cannot be read: no endpoint of Neutron is known/);
  assert.deepEqual(writes(cloud), []);
});

test("a database of a release before allocations and bonds is listed too", async (t) => {
  const cloud = await nodes(t);
  const rows = ["--ironic-db", await rowsOf(t, cloud, true)];
  const { out } = await runs(0, [...list, "--all", ...rows], cloud.how);
  const all = JSON.parse(out) as readonly { readonly [column: string]: unknown }[];
  assert.equal(all.length, cloud.nodes.size);
  assert.equal(all[6]?.["Why not"], "");
});

test("what is no database of Ironic, and what is said twice, is refused", async (t) => {
  const cloud = await nodes(t);
  const rows = await rowsOf(t, cloud);
  const file = join(privateFolder(t), "other.sqlite");
  await onFile(file, (db) => db.raw("CREATE TABLE nodes (id INTEGER, uuid TEXT)"));
  const at = (url: string) => [...list, "--ironic-db", url];
  assertRefusal(await run(at(`sqlite:///${file}`)), 4, "N2I-E202", /has no ports/);
  await onFile(file, (db) => db.raw("CREATE TABLE ports (id INTEGER, uuid TEXT)"));
  assertRefusal(await run(at(`sqlite:///${file}`)), 4, "N2I-E204", /no resource classes/);
  assertRefusal(
    await run([...at(rows), ...cloud.words]),
    64,
    "N2I-E100",
    /-url are mutually exclusive/,
  );
  const spares = ["node", "list", "--spares", "--ironic-db", rows];
  assertRefusal(await run(spares), 64, "N2I-E100", /--ironic-db needs --adoptable/);
});
