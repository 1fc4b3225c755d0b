import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { run, runs } from "../../hostile/cli.ts";
import { deploy } from "../../hostile/deployment.ts";
import { engines } from "../../lab/engines.ts";
import { cloud } from "./cloud.ts";
import { differences, rowsOf, sameRows } from "./rows.ts";

const HOST = ["--compute-host", "ironic-compute"];
/** In capitals, which is what no Ironic has. */
const UPPER = caseUuid("node", 1).toUpperCase();

for (const engine of engines())
  test(`on ${engine}, a node that nova spells in upper case is the machine, and is written as Ironic has it`, async (t) => {
    const given = cloud({ machines: 3, others: 2 });
    const { at, source, reader, writer, novaWriter, plan, nova } = await deploy(engine, t, given);
    const beside = source.slice(2, 4);
    await nova.db("instances").where({ id: 1 }).update({ node: UPPER });
    await nova.db("compute_nodes").where({ id: 1 }).update({ hypervisor_hostname: UPPER });
    const before = await rowsOf(nova);
    await runs(0, ["extract", ...at, ...source, "-q"]);
    for (const database of [[], beside]) {
      const kept = await run(["plan", ...at, ...reader, ...plan, ...database, "-q"]);
      const blocked = kept.out.includes(
        `N2I-D225 instances.node will be "${UPPER}", and Ironic's uuid is in lower case`,
      );
      assert.equal(blocked, engine !== "mysql", kept.out);
    }
    await runs(0, ["plan", ...at, ...reader, ...plan, ...beside, ...HOST, "-q"]);
    const act = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await runs(0, ["apply", ...act]);
    const applied = await rowsOf(nova);
    assert.deepEqual(differences(before, applied).get("instances:1"), ["host", "node"]);
    assert.equal(applied.get("instances:1")?.node, caseUuid("node", 1));
    assert.ok(differences(before, applied).has("compute_nodes:1"));
    await runs(0, ["apply", ...act]);
    const verify = ["verify", ...at, ...reader, ...beside, "-q"];
    await runs(0, verify);
    // Spelt anew by somebody: nova finds the machine by MySQL's comparison alone.
    await runs(0, ["plan", ...at, ...reader, ...plan, ...beside, ...HOST, "-q"]);
    await nova.db("instances").where({ id: 1 }).update({ node: UPPER });
    await runs(engine === "mysql" ? 0 : 2, verify);
    await nova
      .db("instances")
      .where({ id: 1 })
      .update({ node: caseUuid("node", 1) });
    await runs(0, ["rollback", ...act, "--all"]);
    sameRows(await rowsOf(nova), before);
  });
