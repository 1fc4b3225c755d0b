import assert from "node:assert/strict";
import { test } from "node:test";
import { run, runs } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { cloud, IMAGES } from "../../migrate/nova/cloud.ts";
import { rowsOf, sameRows } from "../../migrate/nova/rows.ts";

test("a sequence behind its table is named with what sets it, before anything is written", async (t) => {
  const made = await deploy("postgresql", t, cloud({ machines: 2 }));
  const { at, source, reader, writer, novaWriter, plan, nova, ironic } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const words = [...IMAGES, "--compute-host", "ironic-compute", ...source.slice(2, 4)];
  await runs(0, ["plan", ...at, ...reader, ...plan, ...words, "-q"]);
  const before = await rowsOf(nova);
  const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"];
  const told = async (table: string) => {
    const { err, status } = await run(apply);
    assert.equal(status, 4, err);
    assert.match(err, new RegExp(`N2I-E219.*sequence of ${table}`));
    assert.match(err, new RegExp(`setval\\(pg_get_serial_sequence\\('${table}', 'id'\\)`));
    sameRows(await rowsOf(nova), before);
    assert.deepEqual(await ironic.db("nodes").select("id"), []);
  };
  const set = (db: typeof nova.db, table: string, to: string) =>
    db.raw(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), ${to})`);
  const highest = (table: string) => `(SELECT max(id) FROM ${table})`;
  await set(nova.db, "aggregate_hosts", "1, false");
  await set(nova.db, "aggregate_hosts", "1");
  await told("aggregate_hosts");
  await set(nova.db, "aggregate_hosts", highest("aggregate_hosts"));
  await runs(0, apply);
  assert.equal((await ironic.db("nodes").select("id")).length, 2);
});

test("Ironic's own sequence behind its table is no stale plan either", async (t) => {
  const made = await deploy("postgresql", t, cloud({ machines: 2 }));
  const { at, writer, ironic } = made;
  await ironic.db.raw(
    "INSERT INTO nodes (id, uuid, driver) VALUES (1, 'f0000000-0000-4000-8000-0000000000ff', 'fake')",
  );
  await extractAndPlan(made, "--allow-other-nodes");
  const apply = ["apply", ...at, ...writer, "--leave-nova", "--yes", "-q"];
  const { err, status } = await run(apply);
  assert.equal(status, 4, err);
  const says = /N2I-E219.*sequence of nodes.*setval\(pg_get_serial_sequence\('nodes', 'id'\)/s;
  assert.match(err, says);
  assert.equal((await ironic.db("nodes").select("id")).length, 1);
  await ironic.db.raw("SELECT setval(pg_get_serial_sequence('nodes', 'id'), 1)");
  await runs(0, apply);
});
