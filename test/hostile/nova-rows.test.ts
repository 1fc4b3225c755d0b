import assert from "node:assert/strict";
import { test } from "node:test";
import { cloud, IMAGES } from "../migrate/nova/cloud.ts";
import { rowsOf, sameRows } from "../migrate/nova/rows.ts";
import { deployFiles } from "./deployment.ts";
import { ESCAPE, unharmed } from "./escapes.ts";

/** What nova's rows may have become; each is done to a cloud that plans well. */
const HANDS: readonly (readonly [string, readonly (readonly [string, object, object])[]])[] = [
  [
    "negative numbers and endless values",
    [
      ["instances", { id: 2 }, { id: -2 }],
      ["compute_nodes", { id: 1 }, { id: -1, memory_mb: -5, vcpus: 2_000_000_000 }],
      ["services", { id: 3 }, { id: -3, report_count: -1 }],
      ["instance_types", { id: 1 }, { memory_mb: -1, root_gb: 9_007_199_254_740_991 }],
      ["instance_type_extra_specs", { id: 2 }, { id: -2 }],
      ["instance_type_extra_specs", { id: 3 }, { value: "v".repeat(70_000) }],
      ["compute_nodes", { id: 2 }, { cpu_info: "c".repeat(2_000_000) }],
      ["services", { id: 2 }, { disabled_reason: "r".repeat(70_000) }],
      ["instance_types", { id: 1 }, { name: "n".repeat(70_000) }],
    ],
  ],
  [
    "NULLs wherever they may stand",
    [
      ["instances", { id: 2 }, { host: null, node: null, vm_state: null, task_state: null }],
      ["instances", { id: 3 }, { instance_type_id: null, power_state: null, cell_name: null }],
      ["compute_nodes", { id: 1 }, { hypervisor_hostname: null }],
      ["services", { id: 1 }, { host: null, updated_at: null }],
      ["services", { id: 2 }, { binary: null, disabled: null, disabled_reason: null }],
      ["instance_type_extra_specs", { id: 2 }, { value: null }],
      ["instance_type_extra_specs", { id: 5 }, { key: null }],
      ["instance_types", { id: 1 }, { name: null, flavorid: null }],
    ],
  ],
  [
    "terminal escapes and line ends",
    [
      ["services", { id: 1 }, { disabled_reason: `x\n${ESCAPE}` }],
      ["compute_nodes", { id: 1 }, { hypervisor_type: ESCAPE, cpu_info: ESCAPE }],
      ["instance_type_extra_specs", { id: 2 }, { value: `a\n${ESCAPE}` }],
      ["instance_type_extra_specs", { id: 5 }, { key: `k\n${ESCAPE}` }],
      ["instance_types", { id: 1 }, { name: `metal${ESCAPE}`, flavorid: `1\n${ESCAPE}` }],
      ["aggregates", { id: 1 }, { name: ESCAPE }],
      ["instances", { id: 100_001 }, { host: ESCAPE, node: ESCAPE }],
      ["services", { id: 1 }, { host: `compute-1\n${ESCAPE}` }],
      ["instances", { id: 1 }, { host: `compute-1\n${ESCAPE}` }],
      ["aggregate_hosts", { id: 1 }, { host: `compute-1\n${ESCAPE}` }],
    ],
  ],
  [
    "uuids in capitals and names that are nearly the same",
    [
      ["instances", { id: 2 }, { uuid: "B0000000-0000-4000-8000-000000000002" }],
      ["compute_nodes", { id: 1 }, { hypervisor_hostname: "A0000000-0000-4000-8000-000000000001" }],
      ["instance_types", { id: 2 }, { name: "Baremetal", flavorid: "11 " }],
      ["instance_types", { id: 5 }, { name: "baremetal ", flavorid: "011" }],
      ["services", { id: 3 }, { host: "compute-1 " }],
      ["compute_nodes", { id: 2 }, { hypervisor_hostname: "a0000000-0000-4000-8000-000000000001" }],
      ["instance_type_extra_specs", { id: 3 }, { key: "Baremetal:deploy_kernel_id" }],
    ],
  ],
];

for (const [what, hands] of HANDS)
  test(`in nova's rows, ${what} are told or passed over, and what is changed is taken back`, async (t) => {
    const made = await deployFiles(t, cloud({ machines: 4, others: 3 }));
    const { at, source, reader, writer, novaWriter, plan, run: folder, nova } = made;
    for (const [table, where, change] of hands) {
      const changed = await nova.db(table).where(where).update(change);
      assert.equal(changed, 1, `${table} ${JSON.stringify(where)}`);
    }
    const before = await rowsOf(nova);
    const novaReader = source.slice(2, 4);
    const both = [...at, ...writer, ...novaWriter, "--yes"];
    const tried = async (...words: readonly string[]): Promise<number> => {
      return (await unharmed(words, [0, 1, 2, 3, 4])).status;
    };
    await tried("extract", ...at, ...source);
    await tried("check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0");
    const planned = await tried(
      ...["plan", ...at, ...reader, ...novaReader, ...plan],
      ...["--compute-host", "ironic-compute", ...IMAGES],
    );
    assert.equal(planned, 0);
    await tried("show", `${folder}/plan`, "--nova");
    assert.ok([0, 3].includes(await tried("apply", ...both, "--skip-blocked")));
    assert.notDeepEqual(await rowsOf(nova), before);
    await tried("verify", ...at, ...reader, ...novaReader);
    await tried("rollback", ...both, "--all");
    sameRows(await rowsOf(nova), before);
  });
