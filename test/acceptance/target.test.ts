import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../cases/case.ts";
import { siteOf } from "../cases/write-case.ts";
import { refused, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { digest } from "../hostile/digest.ts";
import { SITE, tenant } from "../hostile/fleet.ts";

const GIVEN = {
  shows: "two tenants and a free machine, for an Ironic that boots from disk only",
  nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
  ironic: { release: "2023.1" },
  site: SITE,
} as const;
const OTHER = "f0000000-0000-4000-8000-000000000001";

/** The site document with the word of the operator for these machines' boot. */
function accepted(...ids: readonly number[]): string {
  const machines = ids.map((id) => ({
    match: { uuid: caseUuid("node", id) },
    accept: [{ finding: "N2I-D403", reason: "its bootloader was installed last week" }],
    set: { resource_class: "metal" },
  }));
  const site = { ...SITE, machines: [...SITE.machines, ...machines] };
  return JSON.stringify(siteOf({ ...GIVEN, site }));
}

test("what may not be loaded without the operator's word", async (t) => {
  const made = await deployFiles(t, GIVEN);
  const { at, source, reader, writer, plan, ironic } = made;
  const planning = ["plan", ...at, ...reader, ...plan, "--allow-pairing"];
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const empty = await digest(ironic);
  const site = (...ids: readonly number[]) =>
    writeFileSync(join(made.folder, "site.json"), accepted(...ids));

  // D-20
  await t.test(
    "a tenant without a bootloader is accepted node by node where Ironic boots from disk only",
    async () => {
      for (const [ids, blocked] of [
        [[], 2],
        [[1], 1],
      ] as const) {
        site(...ids);
        const { out } = await runs(0, planning);
        assert.equal(
          out.match(/blocked.*N2I-D403.*boots instances from disk only/g)?.length,
          blocked,
        );
        await refused(applying, 4, "N2I-E304", [
          new RegExp(`${blocked} machines? (is|are) blocked`),
        ]);
      }
      assert.equal(await digest(ironic), empty);
    },
  );

  // D-19
  await t.test(
    "nodes that the run's journal does not know are named, and loaded beside only with a word in the plan",
    async () => {
      site(1, 2);
      await ironic.db("nodes").insert({ uuid: OTHER, driver: "fake-hardware" });
      const beside = await digest(ironic);
      const { err } = await runs(0, planning);
      assert.match(err, new RegExp(`^Ironic has 1 node .*: ${OTHER}: apply will refuse`, "m"));
      await refused(applying, 4, "N2I-E312", [new RegExp(`1 node .*did not load: ${OTHER}\\.`)]);
      assert.equal(await digest(ironic), beside);
      await runs(0, [...planning, "--allow-other-nodes", "-q"]);
      await runs(0, applying);
      await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
      assert.equal(await digest(ironic), beside);
      await ironic.db("nodes").where({ uuid: OTHER }).delete();
    },
  );

  await t.test("what the run itself loaded is no reason to refuse; another run's is", async () => {
    await runs(0, [...planning, "-q"]);
    await runs(0, applying);
    await runs(0, applying);
    // One of ours is gone, and theirs is there: as many nodes as ours are.
    const [ours] = await ironic.db("nodes").select("id", "uuid").orderBy("id");
    await ironic.db("ports").where({ node_id: ours.id }).delete();
    await ironic.db("nodes").where({ id: ours.id }).delete();
    await ironic.db("nodes").insert({ uuid: OTHER, driver: "fake-hardware" });
    const beside = await digest(ironic);
    await refused(applying, 4, "N2I-E312", [new RegExp(`1 node .*did not load: ${OTHER}\\.`)]);
    assert.equal(await digest(ironic), beside);
    await ironic.db("nodes").where({ uuid: OTHER }).delete();
    assert.match((await runs(0, applying)).out, /Apply: [1-9]\d* rows created, [1-9]\d* unchanged/);
    await ironic.db("nodes").insert({ uuid: OTHER, driver: "fake-hardware" });
    await refused(applying, 4, "N2I-E312", [new RegExp(`1 node .*did not load: ${OTHER}\\.`)]);
    await ironic.db("nodes").where({ uuid: OTHER }).delete();
    const again = await runs(0, planning);
    assert.doesNotMatch(again.err, /did not load/);
    const other = ["--run", `${made.run}-other`];
    await runs(0, ["extract", ...other, ...source, "-q"]);
    await runs(0, ["plan", ...other, ...planning.slice(3), "-q"]);
    await refused(["apply", ...other, ...applying.slice(3)], 4, "N2I-E312", [/has 3 nodes/]);
  });
});
