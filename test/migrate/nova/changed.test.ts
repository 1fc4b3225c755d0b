import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, run } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { differences, NOW, rowsOf, sameRows } from "./rows.ts";

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
      await isRefused(new RegExp(`N2I-E300.*${table}:${id} was changed since in`, "s"));
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
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
  });

  test(`on ${engine}, rollback leaves and lists a machine with a row somebody changed since, and restores all others`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, nova } = made;
    await ends(0, act(["apply"]));
    await nova.db("instances").where({ id: 2 }).update({ host: "somewhere" });
    await nova.db("instance_type_extra_specs").where({ id: 3 }).update({ value: "theirs" });
    const back = await ends(2, act(["rollback", "--all"]));
    assert.match(back.out, /instances:2 .*was changed since in host/);
    assert.match(back.out, /instance_type_extra_specs:3 .*was changed since in value/);
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
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
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
    assert.match(back.out, /^1 machines stay in Ironic, and their rows of nova with them\.$/m);
    assert.deepEqual(
      [...differences(made.before.nova, await rowsOf(nova)).keys()],
      // The aggregate of the new host is needed as long as an instance is there.
      ["compute_nodes:1", "instances:1", "aggregate_hosts:3"],
    );
    await node().update({ maintenance: false });
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
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
