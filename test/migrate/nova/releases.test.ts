import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, caseUuid } from "../../cases/case.ts";
import { runs } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan } from "../../hostile/deployment.ts";
import { SITE } from "../../hostile/fleet.ts";
import { cloud, IMAGES, kiloCloud } from "./cloud.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

const MOVE = ["--compute-host", "ironic-compute"];

const GIVEN: readonly (readonly [number, Case, number])[] = [
  [216, cloud({ machines: 3, others: 2, version: 216 }), 0],
  [234, cloud({ machines: 3, others: 2, version: 234 }), 0],
  [280, kiloCloud(), 2],
];

for (const [version, given, named] of GIVEN)
  test(`nova ${version}: flavors and hosts are changed, verified, and restored to the byte`, async (t) => {
    const made = await deployFiles(t, given);
    const { at, source, writer, novaWriter, nova } = made;
    const before = await rowsOf(nova);
    await extractAndPlan(made, ...source.slice(2, 4), ...MOVE, ...IMAGES);
    const all = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await runs(0, ["apply", ...all]);
    const gone = { "compute_nodes deleted_at deleted": 3 - named };
    const moved = { "compute_nodes service_id host": 1, "compute_nodes host": 1 };
    assert.deepEqual(changes(before, await rowsOf(nova)), {
      ...{ "instances host": 3, "instance_type_extra_specs value": 4 },
      ...{ "services disabled disabled_reason": 2, "aggregate_hosts new": 1 },
      ...gone,
      ...(named > 0 && moved),
    });
    const again = await runs(0, ["apply", ...all]);
    assert.match(again.out, /flavors: 0 rows changed, 4 already changed/);
    await runs(0, ["rollback", ...all, "--all"]);
    sameRows(await rowsOf(nova), before);
  });

test("a flavor that other hosts use too is listed with them; its images change, resources are not added", async (t) => {
  const given = cloud({ machines: 2, others: 7, release: "pike" });
  const [ours = {}] = given.nova?.instances ?? [];
  // Every instance elsewhere has the flavor of our machines.
  const instances = (given.nova?.instances ?? []).map((row) =>
    row.instance_type_id === 2 ? { ...row, instance_type_id: 1 } : row,
  );
  assert.equal(ours.instance_type_id, 3);
  const made = await deployFiles(t, {
    ...given,
    nova: { ...given.nova, instances },
    site: {
      ...SITE,
      machines: [{ match: {}, set: { ...SITE.machines[0].set, resource_class: "metal" } }],
    },
  });
  const said = await extractAndPlan(made, ...made.source.slice(2, 4), ...IMAGES);
  assert.match(
    said.out,
    /N2I-D233 warning instance_types.id=1 baremetal: instances with this flavor are on kvm-0, kvm-1, kvm-2, kvm-3, kvm-4\n/,
  );
  const shown = await runs(0, ["show", `${made.run}/plan`, "--nova", "-f", "csv"]);
  assert.match(shown.out, /"flavors","instance_type_extra_specs:2","update".*old-kernel/);
  assert.doesNotMatch(shown.out, /instance_type_extra_specs:1\/resources/);
  assert.match(shown.out, /instance_type_extra_specs:5\/resources:CUSTOM_METAL/);
});

test("an instance that Nova changed between extract and plan blocks its machine, and the others go on", async (t) => {
  const made = await deployFiles(t, cloud({ machines: 5, others: 1 }));
  const { at, source, reader, plan, nova } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const instance = (id: number) => nova.db("instances").where({ uuid: caseUuid("instance", id) });
  await instance(1).update({ task_state: "rebuilding" });
  await instance(2).update({ host: "elsewhere", node: "elsewhere" });
  await instance(3).update({ deleted: 3 });
  await instance(4).delete();
  const words = [...at, ...reader, ...source.slice(2, 4), ...plan, ...MOVE, "-q"];
  const { out } = await runs(0, ["plan", ...words]);
  for (const [id, why] of [
    [1, "changed since extract: task_state"],
    [2, "changed since extract: host, node"],
    [3, "changed since extract: deleted"],
    [4, "the row was deleted"],
  ] as const)
    assert.match(out, new RegExp(`! ${caseUuid("node", id)} +blocked .*N2I-D222 .*${why}`), out);
  assert.match(out, /Plan: 1 nodes, 1 ports to add; .* 4 blocked/);
  // No step is planned for rows that are not what the snapshot says.
  const shown = await runs(0, ["show", `${made.run}/plan`, "--nova", "-f", "csv"]);
  assert.doesNotMatch(shown.out, new RegExp(`"${caseUuid("node", 1)}"`));
  assert.match(shown.out, new RegExp(`"${caseUuid("node", 5)}"`));
});
