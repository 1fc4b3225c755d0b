import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../../hostile/cli.ts";
import { deploy } from "../../hostile/deployment.ts";
import { engines } from "../../lab/engines.ts";
import { cloud } from "./cloud.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a kept host blocks its machines while guests of another hypervisor live on it`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 3, others: 2 }));
    const { at, source, reader, plan, nova } = made;
    const [own] = await nova.db("compute_nodes").where({ id: 1 });
    const guest = { id: 600, hypervisor_type: "QEMU", hypervisor_hostname: "kvm.example" };
    await nova.db("compute_nodes").insert({ ...own, ...guest });
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const planned = async (...words: readonly string[]) => {
      const beside = [...source.slice(2, 4), ...plan, ...words];
      return (await runs(0, ["plan", ...at, ...reader, ...beside, "-q"])).out;
    };
    assert.doesNotMatch(await planned(), /N2I-D242/, "nobody lives there");
    const lives = { host: "compute-1", node: "kvm.example" };
    await nova.db("instances").where({ id: 100_000 }).update(lives);
    const kept = await planned();
    assert.equal(
      kept.match(/blocked .*N2I-D242 "compute-1" is kept, and has 1 live/g)?.length,
      2,
      kept,
    );
    assert.doesNotMatch(await planned("--compute-host", "ironic-compute"), /N2I-D242/);
    await nova.db("instances").where({ id: 100_000 }).update({ deleted: 100_000 });
    assert.doesNotMatch(await planned(), /N2I-D242/);
  });
