import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../src/demo/create-tables.ts";
import { refused, run, runs } from "../hostile/cli.ts";
import { deploy } from "../hostile/deployment.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

const ENGINES: readonly Engine[] = ["sqlite", "mysql", "postgresql"];

for (const engine of ENGINES)
  test(`on ${engine}, of 10,000 instances 1,000 machines' rows change and nothing else, and rollback restores every byte`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 1000, others: 9100 }));
    if (made === null) return;
    const { at, source, reader, writer, novaWriter, plan, nova, ironic } = made;
    const [novaBefore, ironicBefore] = [await rowsOf(nova), await rowsOf(ironic)];
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const novaReader = source.slice(2, 4);
    const said = await runs(0, [
      ...["plan", ...at, ...reader, ...novaReader, ...plan, "-q"],
      ...["--compute-host", "ironic-compute", ...IMAGES],
    ]);
    // 900 instances, 1,000 compute nodes, two services, one aggregate.
    assert.match(said.out, /Nova: 1903 rows .* to change; 4 extra specs/);
    sameRows(await rowsOf(nova), novaBefore);
    await refused(["apply", ...at, ...writer, "--yes", "-q"], 4, "N2I-E311", [], { bare: true });
    const all = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await runs(0, ["apply", ...all]);
    const applied = await rowsOf(nova);
    assert.deepEqual(changes(novaBefore, applied), {
      "instances host": 900,
      "compute_nodes deleted_at deleted": 1000,
      "services disabled disabled_reason": 2,
      "aggregate_hosts new": 1,
      "instance_type_extra_specs value": 4,
    });
    await runs(0, ["verify", ...at, ...reader, ...novaReader, "-q"]);
    const again = await runs(0, ["apply", ...all]);
    assert.match(again.out, /flavors: 0 rows changed, 4 so already/);
    assert.match(again.out, /hosts: 0 rows changed, 1903 so already/);
    sameRows(await rowsOf(nova), applied);
    // Ironic's rows first and alone; Nova's afterwards.
    const alone = await run(["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
    assert.equal(alone.status, 2, alone.err);
    assert.deepEqual(changes(ironicBefore, await rowsOf(ironic)), {});
    sameRows(await rowsOf(nova), applied);
    await runs(0, ["rollback", ...all, "--all"]);
    sameRows(await rowsOf(nova), novaBefore);
  });
