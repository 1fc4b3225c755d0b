import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf } from "../../../src/migrate/hosts/rules/choice.ts";
import {
  auditInstances,
  type OnNode,
  placedOf,
} from "../../../src/migrate/hosts/rules/current-placement.ts";
import { accept, finding } from "../../../src/model/finding.ts";
import type { InstanceRow } from "../../../src/model/nova/nova-rows.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const [NODE, INSTANCE] = ["a-1", "b-1"];
const LINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: NODE, service_host: "c-1", verdict: "unchanged", reason: null },
  ...{ state: { row: "active", outcome: "active" }, findings: [] },
  records: [
    {
      ...{ resource: "node", id: `node:${NODE}`, origins: [], change: "none" },
      row: { uuid: NODE, instance_uuid: INSTANCE, conductor_group: "rack7" },
    },
  ],
};
const ROW: InstanceRow = {
  ...{ id: 1, uuid: INSTANCE, host: "c-1", node: "A-1", task_state: null, deleted: 0 },
};

/** What is told of a machine with this row. */
async function told(
  row: Partial<InstanceRow> | null,
  line: Partial<PlannedMachine> = {},
  words: readonly string[] = [],
): Promise<readonly string[]> {
  const machines = async function* () {
    yield await Promise.resolve([{ ...LINE, ...line }]);
  };
  const rows = new Map(row === null ? [] : [[INSTANCE, { ...ROW, ...row }]]);
  const faults: string[] = [];
  const now = {
    nova: { engine: "mysql" } as const,
    instancesOf: () => Promise.resolve(rows),
    onNodes: () => Promise.resolve(new Map<string, readonly OnNode[]>()),
  };
  const found = auditInstances(machines(), now, choiceOf(words));
  for await (const { fault } of found) faults.push(fault);
  return faults;
}

test("an instance under its nova-compute, on its machine, is passed over", async () => {
  assert.deepEqual(await told({}), []);
  assert.deepEqual(await told({ host: "metal" }, {}, ["group:rack7=metal"]), []);
  assert.deepEqual(await told(null, { verdict: "blocked", records: [] }), []);
  assert.deepEqual(await told(null, { verdict: "conflict" }), []);
});

test("a host, a node, a deletion and a missing row are told, whether a step changes the row or not", async () => {
  assert.deepEqual(await told({}, {}, ["metal"]), [
    'instance b-1: host is "c-1", should be "metal"',
  ]);
  assert.deepEqual(await told({ host: null, node: null }), [
    'instance b-1: host is NULL, should be "c-1"',
    'instance b-1: node is NULL, should be "a-1"',
  ]);
  assert.deepEqual(await told({ deleted: 1 }), ["instance b-1: is deleted in nova"]);
  assert.deepEqual(await told(null), ["instance b-1: is not in nova"]);
});

for (const [code, row] of [
  ["N2I-D201", null],
  ["N2I-D202", { deleted: 1 }],
  ["N2I-D225", { host: "elsewhere" }],
] as const)
  test(`what ${code} says is not held against a machine for which it was accepted`, async () => {
    const findings = accept(
      [finding(code, "instance", "so it is")],
      [{ finding: code, reason: "known" }],
    );
    assert.deepEqual(await told(row, { findings }), []);
    assert.notDeepEqual(await told(row), []);
  });

test("a machine that is packed is the one it was, however its instance is spelled and whatever was accepted", () => {
  const instance = "B0000000-0000-4000-8000-00000000000B";
  const node = (instance_uuid: string | null) =>
    LINE.records.map((one) => ({ ...one, row: { ...one.row, instance_uuid } }));
  const [lost, shared] = [finding("N2I-D201", "", ""), finding("N2I-D207", "", "")];
  const lines: readonly Partial<PlannedMachine>[] = [
    {},
    { uuid: null, service_host: null, records: [] },
    { bm_node_id: 2 ** 40, records: node(instance) },
    {
      records: node(instance.toLowerCase()),
      findings: [...accept([lost], [{ finding: "N2I-D201", reason: "looked at it" }]), shared],
    },
    { records: node(null), findings: [lost] },
  ];
  const choice = choiceOf(["group:rack7=metal"]);
  const placed = lines.map((line, at) => placedOf({ ...LINE, ...line }, at, choice));
  assert.deepEqual(
    placed.map(({ host, kept, alone, accepted }) => [host, kept, alone, accepted]),
    [
      ["metal", false, true, ""],
      [null, true, false, ""],
      ["metal", false, true, ""],
      ["metal", false, false, "N2I-D201"],
      ["metal", false, true, ""],
    ],
  );
});
