import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runningComputes } from "../../../src/migrate/hosts/rules/running.ts";
import type { Engine } from "../../../src/model/database.ts";
import { readServices } from "../../../src/systems/nova-db/services.ts";
import { caseUuid } from "../../cases/case.ts";
import { loadNova } from "../../cases/load-case.ts";
import { ends, killedAt, refused, run, runs } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { tenant } from "../../hostile/fleet.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { asDatabase, differences, NOW, rowsOf, sameRows } from "./rows.ts";

const NODE = caseUuid("node", 1);

for (const engine of engines("sqlite", "mysql")) {
  test(`on ${engine}, a changed row or a nova-compute that reported lately is refused before anything is written, and a plan made again after the load is empty`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova, at, reader, source, plan } = made;
    const isRefused = async (why: RegExp): Promise<void> => {
      const there = await made.now();
      assert.match((await ends(4, act(["apply"]))).err, why);
      assert.deepEqual(await made.now(), there);
    };
    for (const [table, id, change] of [
      ["instances", 1, { task_state: "rebuilding" }],
      ["instance_type_extra_specs", 2, { value: "somebody's" }],
      ["services", 1, { disabled: true }],
    ] as const) {
      const [row] = await nova.db(table).where({ id });
      await nova.db(table).where({ id }).update(change);
      await isRefused(new RegExp(`N2I-E300.*${table}:${id} has changed since in`, "s"));
      const [column = ""] = Object.keys(change);
      await nova
        .db(table)
        .where({ id })
        .update({ [column]: row[column] });
    }
    await made.isAsBefore();
    const report = (at: string) =>
      nova
        .db("services")
        .where({ host: "compute-2" })
        .update({ updated_at: nova.db.raw(at) });
    await report(NOW[engine]);
    await isRefused(/N2I-E310.*reported from compute-2 \d+ s ago/s);
    await report("'2014-12-01 00:00:00'");
    await ends(0, act(["apply"]));
    const again = await ends(
      0,
      run([
        ...["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, "--detailed-exitcode", "-q"],
        ...["--compute-host", "ironic-compute", ...IMAGES],
      ]),
    );
    assert.match(again.out, /Nova: 0 rows .*; 0 extra specs/);
    await made.undone();
  });

  test(`on ${engine}, rollback leaves and lists a machine with a row somebody changed since, and restores all others`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova } = made;
    await ends(0, act(["apply"]));
    await nova.db("instances").where({ id: 2 }).update({ host: "somewhere" });
    await nova.db("instance_type_extra_specs").where({ id: 3 }).update({ value: "theirs" });
    const back = await ends(2, act(["rollback", "--all"]));
    assert.match(back.out, /instances:2 .*has changed since in host/);
    assert.match(back.out, /instance_type_extra_specs:3 .*has changed since in value/);
    assert.deepEqual(
      [...differences(made.before.nova, await rowsOf(nova)).entries()],
      [
        // The machine stays whole: its instance, its compute node, and its node in Ironic.
        ["compute_nodes:2", ["deleted_at", "deleted"]],
        ["instance_type_extra_specs:3", ["value"]],
        ["instances:2", ["host"]],
      ],
    );
    const there: readonly { readonly uuid: string }[] = await made.ironic.db("nodes");
    assert.deepEqual(
      there.map(({ uuid }) => uuid),
      [caseUuid("node", 2)],
    );
    await nova.db("instances").where({ id: 2 }).update({ host: "ironic-compute" });
    await nova.db("instance_type_extra_specs").where({ id: 3 }).update({ value: "old-ramdisk" });
    await made.undone();
  });

  test(`on ${engine}, a machine whose node rollback leaves in Ironic keeps its host, and a refusal leaves all`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova, ironic } = made;
    await ends(0, act(["apply"]));
    const loaded = await rowsOf(nova);
    const key = join(made.run, "secret.key");
    renameSync(key, `${key}.away`);
    await ends(4, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), loaded);
    renameSync(`${key}.away`, key);
    const node = () => ironic.db("nodes").where({ uuid: caseUuid("node", 1) });
    await node().update({ maintenance: true });
    const back = await ends(2, act(["rollback", "--all"]));
    assert.match(back.out, /changed since it was loaded: maintenance/);
    assert.match(back.out, /^1 machine remains in Ironic, and so do the rows in nova\.$/m);
    assert.deepEqual(
      [...differences(made.before.nova, await rowsOf(nova)).keys()],
      // The aggregate of the new host is needed as long as an instance is there.
      ["compute_nodes:1", "instances:1", "aggregate_hosts:3"],
    );
    await node().update({ maintenance: false });
    await made.undone();
  });

  test(`on ${engine}, verify names the machine of which Nova offers 1 MB too much, and one with two compute nodes`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova, before, at, reader, source } = made;
    await ends(0, act(["apply"]));
    const compute = (id: number, more: object) => ({
      ...before.nova.get(`compute_nodes:${id}`),
      ...{ id: 500 + id, service_id: 90, hypervisor_type: "ironic", ...more },
    });
    // As the nova-compute of the new host makes them.
    const service = {
      ...before.nova.get("services:3"),
      id: 90,
      host: "ironic-compute",
      disabled: false,
    };
    await nova.db("services").insert(service);
    await nova.db("compute_nodes").insert([1, 2, 3, 4].map((id) => compute(id, {})));
    const verify = ["verify", ...at, ...reader, ...source.slice(2, 4), "-q"];
    await ends(0, run(verify));
    await nova.db("compute_nodes").where({ id: 503 }).update({ memory_mb: 49_153 });
    await nova.db("compute_nodes").insert(compute(2, { id: 602 }));
    const ran = await ends(2, run(verify));
    assert.match(
      ran.out,
      /compute nodes .*a0000000-0000-4000-8000-000000000003 .*memory_mb is 49153, properties.memory_mb 49152/,
    );
    assert.match(
      ran.out,
      /compute nodes .*a0000000-0000-4000-8000-000000000002 .*2 live compute nodes: 502, 602/,
    );
    assert.equal(ran.out.match(/mismatched/g)?.length, 2);
    // Of both databases there is one list, so a program reads one document.
    await nova.db("instances").where({ id: 2 }).update({ host: "somewhere" });
    await made.ironic.db("nodes").where({ uuid: NODE }).update({ driver: "other" });
    const { out } = await run([...verify, "-f", "json"]);
    const rows = JSON.parse(out) as readonly { readonly [column: string]: unknown }[];
    const columns = ["Resource", "UUID", "BM ID", "Result", "Fields", "Details"];
    assert.deepEqual(Object.keys(rows[0] ?? {}), columns);
    assert.deepEqual(
      rows.map((row) => [row.Resource, row.UUID, row.Result, row.Fields]),
      [
        ["node", NODE, "mismatched", "driver"],
        ["instances:2", caseUuid("node", 2), "mismatched", "host"],
        ["compute nodes", caseUuid("node", 2), "mismatched", ""],
        ["compute nodes", caseUuid("node", 3), "mismatched", ""],
      ],
    );
    const all = await run([...verify, "--all-rows", "-f", "json"]);
    const seen = JSON.parse(all.out) as readonly object[];
    assert.ok(seen.length > rows.length + 8);
  });
}

for (const engine of engines())
  test(`on ${engine}, a service row that somebody changed is no heartbeat since Liberty, and its report is`, async (t) => {
    const { database, services } = await novaOf(engine, t, 302);
    const change = (more: object) => services().where({ host: "compute-1" }).update(more);
    const look = () => readServices(database, ["compute-1"]);
    const stale = { last_seen_up: "2014-12-01 00:00:00" };
    await change({ ...stale, updated_at: database.knex.raw(NOW[engine]) });
    const first = await look();
    assert.deepEqual(runningComputes(first, first), []);
    await change({ updated_at: "2014-12-01 00:00:10", disabled: true });
    assert.deepEqual(runningComputes(first, await look()), []);
    await change({ report_count: 11 });
    assert.equal(runningComputes(first, await look()).length, 1);
    await change({ report_count: 10, last_seen_up: database.knex.raw(NOW[engine]) });
    assert.match(runningComputes(first, await look())[0] ?? "", /^compute-1 \d+ s ago$/);
  });

for (const engine of engines())
  test(`on ${engine}, services without disabled_reason, as of Grizzly, are read`, async (t) => {
    const { database } = await novaOf(engine, t, 254);
    await database.knex.schema.alterTable("services", (table) => {
      table.dropColumn("disabled_reason");
    });
    const [service] = await readServices(database, ["compute-1"]);
    assert.equal(service?.report_count, 10);
    assert.equal(service.disabled_reason, null);
  });

async function novaOf(engine: Engine, t: TestContext, version: number) {
  const made = await withDatabase(engine, t);
  await loadNova(made.db, engine, cloud({ machines: 1, others: 1, version }));
  return { database: asDatabase(made.db, engine), services: () => made.db("services") };
}

const FREE = 3;

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a plan of yesterday loads no machine whose tenant came, went, moved or is worked on since, and goes on with those it began`, async (t) => {
    const made = await deploy(
      engine,
      t,
      cloud({
        ...{ machines: FREE, others: 2 },
        node: (id, place) => {
          const here = { ...place, service_host: "compute-1" };
          return id === FREE ? { id, ...here } : tenant(id, here);
        },
      }),
    );
    const { at, source, reader, writer, novaWriter, nova, ironic } = made;
    const beside = source.slice(2, 4);
    await extractAndPlan(made, ...beside, ...IMAGES);
    const before = [await rowsOf(nova), await rowsOf(ironic)] as const;
    const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"];
    const instance = (id: number) => nova.db("instances").where({ id });
    const stale = async (saying: RegExp): Promise<void> =>
      void (await refused(apply, 4, "N2I-E300", [saying, /run extract and plan again/]));

    const [row] = await instance(1);
    const came = caseUuid("instance", 77);
    const node = caseUuid("node", FREE).toUpperCase();
    await nova.db("instances").insert({ ...row, id: 77, uuid: came, node });
    await stale(/bm_nodes\.id=3 is planned with no instance, and instance b0+-.*77 is on it/);
    await instance(77).delete();
    await instance(1).update({ deleted: 1 });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 is deleted in nova/);
    await instance(1).update({ deleted: 0, task_state: "rebuilding" });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 task_state is rebuilding/);
    await instance(1).update({ task_state: null, host: "kvm-1" });
    await stale(/bm_nodes\.id=1 instance b0+-.*1 host is "kvm-1", should be "compute-1"/);
    await instance(1).update({ host: "compute-1" });
    sameRows(await rowsOf(nova), before[0]);
    sameRows(await rowsOf(ironic), before[1]);

    await killedAt("commit.after:1", apply);
    // Ironic has them by now, and so may their tenants.
    await instance(1).update({ task_state: "rebuilding" });
    await runs(0, apply);
    await runs(0, ["verify", ...at, ...reader, ...beside, "-q"]);
    await nova.db("instances").insert({ ...row, id: 77, uuid: came, node });
    const found = await runs(2, ["verify", ...at, ...reader, ...beside, "-q"]);
    assert.match(
      found.out,
      /a0+-.*3 .*instance b0+-.*77: refers to this node, which has a different instance/,
    );
  });
