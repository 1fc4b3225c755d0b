import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deploy } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { engines } from "../../lab/engines.ts";
import { checkRows } from "./check-output.ts";
import { cloud, IMAGES } from "./cloud.ts";
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
      /^Failure: 2 .*b0+-.*1 under compute-2, its nova-compute is compute-1, .*3 under.*\nFix: nova2ironic plan .*--compute-host/s,
    );
    // Juno's nova keeps no records, and needs none to destroy.
    assert.match(kept.evacuations, /^Failure: .*every instance on its machines.* 2 inst/s);
    await runs(0, ["plan", ...both, ...HOST]);
    assert.match((await look()).places, /^Success: 3 instances name/);
    await runs(0, ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"]);
    await runs(0, ["plan", ...both, ...HOST]);
    const loaded = await look();
    assert.match(loaded.places, /^Success: 3 instances name/);
    assert.match(loaded.unmatched, /^Success/);
    assert.match(loaded.loaded, /^Success/);
    const [other] = await nova.db("instances").where({ id: 100_000 });
    const lost = { id: 100_900, uuid: "b0000000-0000-4000-8000-000000100900" };
    await nova.db("instances").insert({ ...other, ...lost, host: "compute-1", node: null });
    await nova.db("instances").where({ id: 2 }).update({ deleted: 2 });
    await made.bm.db("bm_nodes").where({ id: 3 }).update({ deleted: true });
    const apart = await look();
    assert.match(apart.unmatched, /^Failure: 1 .*0900 is on host compute-1 in nova alone/);
    assert.match(
      apart.loaded,
      /^Failure: 3 .*0003 is planned, and no more .*node a0+-.*2 has b0+-.* in Ironic, which nova has no more.*0003 is ours in Ironic, and no more/,
    );
  });
