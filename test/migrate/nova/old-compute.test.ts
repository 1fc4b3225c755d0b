import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { kiloCloud } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";

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
    assert.match(shown.out, /^"leave","compute_nodes","502",2,"made by .* of compute-2 since/m);
    const back = await ends(2, act(["rollback", "--all"]));
    assert.deepEqual(back.out.match(/compute_nodes:\d+ /g), ["compute_nodes:502 "]);
    assert.match(back.out, /^1 compute nodes were made by a nova-compute since.*\(502\)$/m);
    await nova.db("compute_nodes").where({ id: 502 }).delete();
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
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
    const place = "live row compute_nodes.id=502 has its host and node: all of it stays";
    assert.match(back.out, new RegExp(`machine:${caseUuid("node", 2)} .*${place}`));
    assert.match(back.out, /\(502\)$/m);
    assert.equal((await made.now()).ironic.get("nodes:2")?.uuid, caseUuid("node", 2));
    await nova.db("compute_nodes").where({ id: 502 }).delete();
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
  });
}
