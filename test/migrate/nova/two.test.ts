import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { ends, pausedAt, refused, run, runs } from "../../hostile/cli.ts";
import { deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { engines, test } from "../../lab/engines.ts";
import { smallBatches } from "../../support/batches.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

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
