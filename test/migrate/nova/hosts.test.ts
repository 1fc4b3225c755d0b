import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deploy } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { engines } from "../../lab/engines.ts";
import { checkRows } from "./check-output.ts";
import { cloud, IMAGES, kiloCloud } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { changes, differences, rowsOf, sameRows } from "./rows.ts";

const HOST = ["--compute-host", "ironic-compute", ...IMAGES];

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, an instance that no nova-compute will manage blocks its machine until a compute host is planned, which fixes host and node`, async (t) => {
    const { at, source, reader, writer, novaWriter, plan, nova } = await deploy(engine, t, {
      ...cloud({ machines: 3, others: 2 }),
      site: SITE,
    });
    const beside = source.slice(2, 4);
    const instance = (id: number) => nova.db("instances").where({ id });
    await instance(1).update({ host: "compute-2", node: null });
    await runs(0, ["extract", ...at, ...source, "-q"]);
    for (const database of [[], beside]) {
      const kept = await run(["plan", ...at, ...reader, ...plan, ...database, "-q"]);
      assert.match(kept.out, /! a0+-0000-4000-8000-000000000001 .*N2I-D225/);
      // Juno's machines have one host: that of the first that loads.
      assert.match(kept.out, /! a0+-0000-4000-8000-000000000003 .*N2I-D227/);
    }
    const words = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await ends(4, run(["apply", ...at, ...writer, "--leave-nova", "--yes", "-q"]));
    const before = await rowsOf(nova);
    await runs(0, ["plan", ...at, ...reader, ...plan, ...beside, ...HOST, "-q"]);
    await runs(0, ["apply", ...words]);
    const applied = await rowsOf(nova);
    const moved = changes(before, applied);
    assert.equal(moved["instances host"], 2);
    assert.deepEqual(differences(before, applied).get("instances:1"), ["host", "node"]);
    assert.equal(applied.get("instances:1")?.node, "a0000000-0000-4000-8000-000000000001");
    const verify = ["verify", ...at, ...reader, ...beside, "-q"];
    await runs(0, verify);
    // Made again, the plan changes none of these rows, and they are looked at all the same.
    // deleted_at and made_at have whole seconds: what the first plan deleted is older than the second.
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 1000 });
    await runs(0, ["plan", ...at, ...reader, ...plan, ...beside, ...HOST, "-q"]);
    t.mock.timers.reset();
    await runs(0, verify);
    await instance(1).update({ host: "kvm-1" });
    await instance(2).update({ node: "kvm-2" });
    await instance(3).update({ deleted: 3 });
    const found = await ends(2, run(verify));
    assert.match(found.out, /instances .*a0+-.*1 .*host is "kvm-1", should be "ironic-compute"/);
    assert.match(found.out, /instances .*a0+-.*2 .*node is "kvm-2", should be "a0+-.*2"/);
    assert.match(found.out, /instances .*a0+-.*3 .*is deleted in nova/);
    assert.equal(found.out.match(/mismatched/g)?.length, 3);
    await instance(1).update({ host: "ironic-compute" });
    await instance(2).update({ node: "a0000000-0000-4000-8000-000000000002" });
    await instance(3).update({ deleted: 0 });
    await runs(0, ["rollback", ...words, "--all"]);
    sameRows(await rowsOf(nova), before);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, check holds instances against their nova-compute by the plan, and each side against the others`, async (t) => {
    const made = await deploy(engine, t, { ...cloud({ machines: 3, others: 2 }), site: SITE });
    const { at, source, reader, writer, novaWriter, plan, nova } = made;
    const both = [...at, ...reader, ...plan, ...source.slice(2, 4), "-q"];
    /** What each row says, by its title. */
    const look = async () => {
      const of = await checkRows(made);
      return {
        places: of("Hosts of instances"),
        evacuations: of("Evacuation records"),
        unmatched: of("Unmatched instances"),
        loaded: of("Instances planned and loaded"),
      };
    };
    await nova.db("instances").where({ id: 1 }).update({ host: "compute-2", node: null });
    await runs(0, ["extract", ...at, ...source, "-q"]);
    await runs(0, ["plan", ...both]);
    const kept = await look();
    assert.match(
      kept.places,
      /^Failure: .* \(2\): .*b0+-.*1 under compute-2, its nova-compute is compute-1, .*3 under.*\nFix: nova2ironic plan .*--compute-host/s,
    );
    // Juno's nova keeps no records, and needs none to destroy.
    assert.match(
      kept.evacuations,
      /^Failure: .*every instance on its machines.*Instances whose host is not the nova-compute of their machine, and which .* destroys when it starts \(2\): /s,
    );
    await runs(0, ["plan", ...both, ...HOST]);
    assert.match(
      (await look()).places,
      /^Success: 3 instances have the nova-compute host of the machine/,
    );
    await runs(0, ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"]);
    await runs(0, ["plan", ...both, ...HOST]);
    const loaded = await look();
    assert.match(loaded.places, /^Success: 3 instances have the nova-compute host of the machine/);
    assert.match(loaded.unmatched, /^Success/);
    assert.match(loaded.loaded, /^Success/);
    const [other] = await nova.db("instances").where({ id: 100_000 });
    const lost = { id: 100_900, uuid: "b0000000-0000-4000-8000-000000100900" };
    await nova.db("instances").insert({ ...other, ...lost, host: "compute-1", node: null });
    await nova.db("instances").where({ id: 2 }).update({ deleted: 2 });
    await made.bm.db("bm_nodes").where({ id: 3 }).update({ deleted: true });
    const apart = await look();
    assert.match(apart.unmatched, /^Failure: .* \(1\): .*0900 is on host compute-1 only in nova/);
    assert.match(
      apart.loaded,
      /^Failure: .* \(3\): .*0003 is planned, but no longer .*node a0+-.*2 has b0+-.* in Ironic, and nova no longer has it.*0003 was loaded by this run, but is no longer/,
    );
  });

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

/** What the old nova-compute of compute-2 writes of machine 2 when it does not find its row. */
const SECOND = { id: 502, service_id: 2, hypervisor_hostname: caseUuid("node", 2) };

for (const engine of engines("sqlite", "mysql")) {
  test(`on ${engine}, a second compute node under a machine's own host is listed until it is gone`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { act, at, before, nova, reader, source } = made;
    await ends(0, act(["apply"]));
    await nova.db("compute_nodes").insert({ ...before.nova.get("compute_nodes:2"), ...SECOND });
    const both = [...at, ...reader, ...source.slice(2, 4), "-f", "csv"];
    const verified = await runs(2, ["verify", ...both]);
    assert.match(
      verified.out,
      /"compute_nodes.id=502 is on host ""compute-2"", should be on ""ironic-compute"""$/m,
    );
    const shown = await runs(0, ["rollback", ...both, "--all", "--plan"]);
    assert.match(
      shown.out,
      /^"leave","compute_nodes","502",2,"created since by .* of compute-2, for/m,
    );
    const back = await ends(2, act(["rollback", "--all"]));
    assert.deepEqual(back.out.match(/compute_nodes:\d+ /g), ["compute_nodes:502 "]);
    assert.match(
      back.out,
      /^A nova-compute created 1 new compute node since.*delete the node: .*\(502\)$/m,
    );
    await nova.db("compute_nodes").where({ id: 502 }).delete();
    await made.undone();
  });

  test(`on ${engine}, since Kilo one that has a machine's place keeps the machine until it is gone`, async (t) => {
    const options = ["--compute-host", "ironic-compute"];
    const made = await plannedCloud(engine, t, options, kiloCloud());
    const { act, nova } = made;
    await ends(0, act(["apply"]));
    const { nova: applied } = await made.now();
    const row = { ...applied.get("compute_nodes:2"), ...SECOND, host: "compute-2" };
    await nova.db("compute_nodes").insert(row);
    const back = await ends(2, act(["rollback", "--all"]));
    const place = "live row compute_nodes.id=502 has its host and node: the whole machine stays";
    assert.match(back.out, new RegExp(`machine:${caseUuid("node", 2)} .*${place}`));
    assert.match(back.out, /\(502\)$/m);
    assert.equal((await made.now()).ironic.get("nodes:2")?.uuid, caseUuid("node", 2));
    await nova.db("compute_nodes").where({ id: 502 }).delete();
    await made.undone();
  });
}
