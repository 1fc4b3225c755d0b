import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { ends, pausedAt, refused, run, runs } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { engines, test } from "../../lab/engines.ts";
import { smallBatches } from "../../support/batches.ts";
import { planWords } from "../../support/plan-files.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { alembicCloud, laterCloud } from "./later.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";
import { changes, differences, rowsOf, sameRows } from "./rows.ts";

const HOST = ["--compute-host", "ironic-compute", ...IMAGES];

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, of two applies to one nova one is kept out, and later neither writes nor owns what the other did`, async (t) => {
    // Each knows nothing of what the other loads.
    const made = await plannedCloud(engine, t, [...HOST, "--allow-other-nodes"]);
    const { at, writer, novaWriter, act, copy } = made;
    const other = copy("other");
    const words = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    const first = await pausedAt("nova.commit.before:1", ["apply", ...words]);
    const kept = await ends(11, act(["apply"], undefined, other));
    assert.match(kept.err, /N2I-E302/);
    first.signal("SIGUSR2");
    await ends(0, first.ended);
    const loaded = await made.now();
    const second = await ends(0, act(["apply"], undefined, other));
    assert.match(second.out, /flavors: 0 rows changed, 4 already changed/);
    assert.match(second.out, /hosts: 0 rows changed, \d+ already changed, 0 left/);
    await ends(0, act(["rollback", "--all"], undefined, other));
    const after = await made.now();
    sameRows(after.nova, loaded.nova);
    sameRows(after.ironic, loaded.ironic);
    await made.undone();
  });

test("a journal of nova's rows that lost its last line is gone on with", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { at, act } = made;
  await ends(0, act(["apply"]));
  const journal = `${made.run}/journal.jsonl`;
  const told = readFileSync(journal, "utf8").trimEnd().split("\n");
  assert.match(told.at(-1) ?? "", /"do":"done"/);
  writeFileSync(journal, `${told.slice(0, -1).join("\n")}\n`, { mode: 0o600 });
  const status = await run(["status", ...at]);
  assert.match(status.out, /1 batch begun and not recorded as done/);
  const again = await ends(0, act(["apply"]));
  assert.match(again.out, /hosts: 0 rows changed, \d+ already changed, 0 left/);
  await made.undone();
});

/** What is of a type of its own in a real nova, and stood for by text otherwise. */
const SHAPES = {
  sqlite: [],
  mysql: ["ALTER TABLE instances MODIFY locked_by enum('owner','admin')"],
  postgresql: [
    "CREATE TYPE instances0locked_by AS ENUM ('owner', 'admin')",
    "ALTER TABLE instances ALTER locked_by TYPE instances0locked_by USING locked_by::instances0locked_by",
    "ALTER TABLE instances ALTER access_ip_v4 TYPE inet USING access_ip_v4::inet",
    "ALTER TABLE instances ALTER access_ip_v6 TYPE inet USING access_ip_v6::inet",
    "ALTER TABLE compute_nodes ALTER host_ip TYPE inet USING host_ip::inet",
  ],
} as const;

/** How many machines: with the tool's own batches a thousand are four of them, and once is enough. */
const SIZES = { sqlite: 20, mysql: 1000, postgresql: 20 } as const;

// PostgreSQL's load and rollback with rows of Nova.
for (const engine of engines())
  test(`on ${engine}, of ${10 * SIZES[engine]} instances ${SIZES[engine]} machines' rows change and nothing else, and rollback restores every byte`, async (t) => {
    const machines: number = SIZES[engine];
    if (machines < 1000) smallBatches(t);
    const others = 9 * machines + machines / 10;
    const made = await deploy(engine, t, cloud({ machines, others }));
    const { at, source, reader, writer, novaWriter, nova, ironic } = made;
    for (const sql of SHAPES[engine]) await nova.db.raw(sql);
    await nova.db("instances").update({ locked_by: "admin", access_ip_v4: "192.0.2.7" });
    const [novaBefore, ironicBefore] = [await rowsOf(nova), await rowsOf(ironic)];
    const novaReader = source.slice(2, 4);
    const host = ["--compute-host", "ironic-compute"];
    const said = await extractAndPlan(made, ...novaReader, ...host, ...IMAGES);
    // Nine instances of ten machines, their compute nodes, two services, one aggregate.
    const rows = 0.9 * machines + machines + 3;
    assert.match(said.out, new RegExp(`Nova: ${rows} rows .* to change; 4 extra specs`));
    sameRows(await rowsOf(nova), novaBefore);
    const without = ["apply", ...at, ...writer, "--without", "nova-db", "--yes", "-q"];
    await refused(without, 4, "N2I-E311", [], { bare: true });
    const all = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await runs(0, ["apply", ...all]);
    const applied = await rowsOf(nova);
    assert.deepEqual(changes(novaBefore, applied), {
      "instances host": 0.9 * machines,
      "compute_nodes deleted_at deleted": machines,
      "services disabled disabled_reason": 2,
      "aggregate_hosts new": 1,
      "instance_type_extra_specs value": 4,
    });
    await runs(0, ["verify", ...at, ...reader, ...novaReader, "-q"]);
    const again = await runs(0, ["apply", ...all]);
    assert.match(again.out, /flavors: 0 rows changed, 4 already changed/);
    assert.match(again.out, new RegExp(`hosts: 0 rows changed, ${rows} already changed`));
    sameRows(await rowsOf(nova), applied);
    // Ironic's rows first and alone; Nova's afterwards.
    await ends(2, run(["rollback", ...at, ...writer, "--all", "--yes", "-q"]));
    assert.deepEqual(changes(ironicBefore, await rowsOf(ironic)), {});
    sameRows(await rowsOf(nova), applied);
    await runs(0, ["rollback", ...all, "--all"]);
    sameRows(await rowsOf(nova), novaBefore);
  });

const SPECS = "instance_type_extra_specs";
const LATER = "2037-01-01 00:00:00";

/** As Nova deletes a flavor: softly, with its extra specs. @source nova 2014.2:nova/db/sqlalchemy/api.py flavor_destroy */
async function destroy({ nova: { db } }: PlannedCloud, id: number, at: string): Promise<void> {
  const gone = { deleted: db.ref("id"), deleted_at: at };
  await db("instance_types").where({ id, deleted: 0 }).update(gone);
  await db(SPECS).where({ instance_type_id: id, deleted: 0 }).update(gone);
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, of a deleted flavor in use live extra specs alone are changed, as Nova deletes, and come back`, async (t) => {
    const { act, nova, before, isAsBefore } = await plannedCloud(engine, t, [
      "--flavor-images",
      "delete",
    ]);
    await ends(0, act(["apply"]));
    const after = await rowsOf(nova);
    // 6 and 7 are of the deleted flavor that instance 1 has, 8 and 9 of one that nobody has.
    assert.deepEqual(changes(before.nova, after), { [`${SPECS} deleted_at deleted`]: 4 });
    assert.deepEqual(
      [...differences(before.nova, after).keys()],
      [2, 3, 6, 7].map((id) => `${SPECS}:${id}`),
    );
    for (const id of [2, 3, 6, 7]) {
      const row = after.get(`${SPECS}:${id}`);
      assert.equal(row?.deleted, String(id));
      assert.equal(row?.updated_at, before.nova.get(`${SPECS}:${id}`)?.updated_at);
    }
    await ends(0, act(["rollback", "--all"]));
    await isAsBefore();
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, an extra spec comes back neither beside one made anew nor on a flavor deleted since`, async (t) => {
    const made = await plannedCloud(engine, t, ["--flavor-images", "delete"]);
    const { act, nova, isAsBefore } = made;
    await ends(0, act(["apply"]));
    const [anew = {}] = await nova.db(SPECS).where({ id: 2 });
    const theirs = { ...anew, id: 90, value: "theirs", deleted: 0, deleted_at: null };
    await nova.db(SPECS).insert(theirs);
    const back = await ends(2, act(["rollback", "--all"]));
    assert.match(back.out, new RegExp(`${SPECS}:2 .*live row ${SPECS}.id=90 has its key`));
    assert.equal((await nova.db(SPECS).where({ id: 3, deleted: 0 })).length, 1);
    await nova.db(SPECS).where({ id: 90 }).delete();
    await ends(0, act(["rollback", "--all"]));
    await isAsBefore();

    await ends(0, act(["apply"]));
    await destroy(made, 1, LATER);
    const gone = await ends(2, act(["rollback", "--all"]));
    for (const id of [2, 3])
      assert.match(gone.out, new RegExp(`${SPECS}:${id} .*its flavor was deleted since`));
    assert.equal((await nova.db(SPECS).where({ instance_type_id: 1, deleted: 0 })).length, 0);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a live key that differs in case bars one from coming back where the engine takes them for one`, async (t) => {
    const { act, nova } = await plannedCloud(engine, t, ["--flavor-images", "delete"]);
    const [own = {}] = await nova.db(SPECS).where({ id: 2 });
    await ends(0, act(["apply"]));
    await nova.db(SPECS).insert({ ...own, id: 90, key: String(own.key).toUpperCase() });
    await ends(engine === "mysql" ? 2 : 0, act(["rollback", "--all"]));
  });

test("a deleted flavor gets no extra spec it did not have, though one of its name is wanted", async (t) => {
  const made = await plannedCloud("sqlite", t, [...IMAGES, "--flavor", "half metal"]);
  const { act, at, reader, source, plan, nova } = made;
  // Its specs went with it; another flavor has its name by now.
  await destroy(made, 5, "2014-06-01 00:00:00");
  const [old = {}] = await nova.db("instance_types").where({ id: 5 });
  await nova.db("instance_types").insert({ ...old, id: 7, deleted: 0, deleted_at: null });
  await nova.db("instances").where({ id: 2 }).update({ instance_type_id: 5 });
  const words = [...at, ...reader, ...source.slice(2, 4), ...plan, ...IMAGES];
  await ends(0, run(["plan", ...words, "--flavor", "half metal", "-q"]));
  const lines = planWords(made.run, "nova");
  assert.match(lines, /"instance_type_extra_specs:7\/baremetal:deploy_kernel_id"/);
  assert.doesNotMatch(lines, /"instance_type_extra_specs:5\//);
  const before = await rowsOf(nova);
  await ends(0, act(["apply"]));
  await ends(0, act(["rollback", "--all"]));
  assert.deepEqual(changes(before, await rowsOf(nova)), {});
});

/** Four extra specs deleted, four of a resource class added to each of two flavors, one of them changed. */
const DELETED = { "flavor_extra_specs gone": 4, "flavor_extra_specs new": 7 };

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, flavors of nova_api lose their deploy images, want a resource class, and come back to the byte`, async (t) => {
    const { api, nova, act } = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const before = await rowsOf(api);
    const novaBefore = await rowsOf(nova);
    await ends(0, act(["apply"]));
    const after = await rowsOf(api);
    assert.deepEqual(changes(before, after), { ...DELETED, "flavor_extra_specs value": 1 });
    sameRows(await rowsOf(nova), novaBefore);
    await ends(0, act(["verify"]));
    const again = await act(["apply"]);
    assert.match(again.out, /flavors: 0 rows changed, 12 already changed, 0 left/);
    sameRows(await rowsOf(api), after);
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(api), before);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, killed around a commit of its part in nova_api, an apply goes on, and a rollback goes back`, async (t) => {
    const { api, act, apiWriter } = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const before = await rowsOf(api);
    await ends(128, act(["apply"], apiWriter, "nova.commit.after:1:kill"));
    await ends(0, act(["apply"]));
    assert.equal(changes(before, await rowsOf(api))["flavor_extra_specs gone"], 4);
    await ends(128, act(["rollback", "--all"], apiWriter, "nova.commit.after:1:kill"));
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(api), before);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a Nova of Xena or later is read, changed and brought back to the byte, its flavors in nova_api`, async (t) => {
    const options = ["--flavor-images", "delete", "--compute-host", "ironic-compute"];
    const made = await laterCloud(engine, t, options, alembicCloud());
    const { api, nova, act } = made;
    const [before, flavors] = [await rowsOf(nova), await rowsOf(api)];
    assert.match(
      readFileSync(`${made.run}/plan/plan.json`, "utf8"),
      /nova of Xena or later, nova_bm 10, ironic train: --allow-pairing/,
    );
    await ends(0, act(["apply"]));
    assert.equal(changes(before, await rowsOf(nova))["instances host"], 4);
    assert.equal(changes(flavors, await rowsOf(api))["flavor_extra_specs gone"], 4);
    await ends(0, act(["verify"]));
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), before);
    sameRows(await rowsOf(api), flavors);
  });
