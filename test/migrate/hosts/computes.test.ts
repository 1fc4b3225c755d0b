import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf } from "../../../src/migrate/hosts/rules/choice.ts";
import {
  type ComputeFault,
  createComputesAudit,
  type NovaNow,
} from "../../../src/migrate/hosts/rules/computes.ts";
import { auditInstances, placedOf } from "../../../src/migrate/hosts/rules/current-placement.ts";
import { ranSince } from "../../../src/migrate/hosts/rules/running.ts";
import { accept, finding } from "../../../src/model/findings.ts";
import type { ComputeSize, InstanceRow } from "../../../src/model/nova/nova-rows.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const SIZE = { vcpus: 8, memory_mb: 1024, local_gb: 10 };
const line = (id: number): PlannedMachine => ({
  ...{ bm_node_id: id, uuid: `A-${id}`, service_host: `c-${id % 2}`, verdict: "unchanged" },
  ...{ reason: null, state: { row: "active", outcome: "active" }, findings: [] },
  records: [
    {
      ...{ resource: "node", id: `node:A-${id}`, origins: [], change: "none" },
      row: { uuid: `A-${id}`, properties: { cpus: 8, memory_mb: 1024, local_gb: 10 } },
    },
  ],
});

type Providers = Awaited<ReturnType<NonNullable<NovaNow["providersOf"]>>>;

/** What Nova has of a machine: nothing, nova-baremetal's row, Ironic's, or one that was deleted. */
const STATES = ["none", "baremetal", "ironic", "deleted"] as const;
type State = (typeof STATES)[number];

async function audit(
  states: readonly State[],
  expects: (host: string | null) => string | null = () => null,
  providers: Providers | null = null,
  size: Partial<typeof SIZE> = {},
) {
  const by = <T>(of: (state: State, id: number) => readonly T[]) =>
    Promise.resolve(new Map(states.map((state, at) => [`a-${at + 1}`, of(state, at + 1)])));
  const now = {
    computesOf: () =>
      by<ComputeSize>((state, id) =>
        state === "baremetal" || state === "ironic"
          ? [{ id, hypervisor_type: state, ...SIZE, ...size }]
          : [],
      ),
    deletedOf: () => by<number>((state, id) => (state === "deleted" ? [id] : [])),
    providersOf: providers === null ? null : () => Promise.resolve(providers),
    expects,
  };
  const tally = { hypervisors: 0, providers: 0, awaited: 0 };
  const faults: string[] = [];
  const tell = ({ machine, fault }: ComputeFault): unknown => faults.push(`${machine}: ${fault}`);
  const looking = createComputesAudit(now, choiceOf([]), tally, new Set());
  for await (const found of looking.faults(states.map((_, at) => line(at + 1)))) tell(found);
  for (const found of looking.end()) tell(found);
  return { tally, faults };
}

test("every machine is compared, awaited or told, whatever Nova has of it and whoever ran", async () => {
  const words = [
    () => null,
    () => "it ran",
    (host: string | null) => (host === "c-0" ? "it ran" : null),
  ];
  for (const expects of words)
    for (const one of STATES)
      for (const two of STATES)
        for (const three of STATES) {
          const states = [one, two, three];
          const { tally, faults } = await audit(states, expects);
          const said = `${states.join(" ")}: ${JSON.stringify(tally)} ${faults.join("; ")}`;
          assert.equal(tally.hypervisors + tally.awaited + faults.length, 3, said);
          assert.equal(tally.hypervisors, states.filter((is) => is === "ironic").length, said);
          // Awaited is a machine only while nothing says that Nova should have it.
          if (tally.awaited === 0) continue;
          assert.ok(!states.includes("ironic"), said);
          assert.ok(expects("c-1") === null, said);
        }
});

test("compute nodes that are all deleted are told, with a nova-compute that ran or without", async () => {
  const gone = await audit(["deleted", "deleted"]);
  assert.equal(gone.faults.length, 2);
  assert.match(gone.faults[0] ?? "", /compute_nodes.id=1 of "c-1" was deleted since the plan/);
  const none = await audit(["none", "none"], () => 'nova-compute of "c-1" has reported');
  assert.equal(none.faults.length, 2);
  assert.match(none.faults[0] ?? "", /^A-1: no live .*, and nova-compute of "c-1" has reported$/);
});

test("what a compute node offers otherwise than its machine has is told by its column", async () => {
  for (const [size, told] of [
    [{ memory_mb: 1023 }, "memory_mb is 1023, properties.memory_mb 1024"],
    [{ vcpus: 9 }, "vcpus is 9, properties.cpus 8"],
    [{ local_gb: 11 }, "local_gb is 11, properties.local_gb 10"],
  ] as const) {
    const { faults } = await audit(["ironic"], undefined, null, size);
    assert.deepEqual(faults, [`A-1: compute_nodes.id=1 ${told}`]);
  }
  // One of another driver is none, once other machines have theirs.
  const { faults } = await audit(["ironic", "baremetal"]);
  assert.match(faults[0] ?? "", /^A-2: no live .* ironic driver, but other machines have one$/);
});

test("a machine that Nova offers has a resource provider of its compute node's uuid", async () => {
  const provider = (uuids: readonly string[], compute: string | null) =>
    new Map([["a-1", { uuids, compute }]]);
  const told = async (given: Providers) => (await audit(["ironic"], undefined, given)).faults;
  assert.deepEqual(await told(provider(["x"], "x")), []);
  assert.deepEqual(await told(provider(["x"], null)), []);
  assert.match((await told(provider(["y"], "x")))[0] ?? "", /provider is y, its compute node x$/);
  assert.match((await told(provider([], "x")))[0] ?? "", /no resource provider/);
  assert.match((await told(new Map()))[0] ?? "", /no resource provider/);
});

test("a nova-compute ran since the load when it reports now, or its last report is younger", () => {
  const beat = (host: string, age: number | null) => ({
    ...{ id: 1, host, report_count: 1, last_seen_up: "2014-12-01 00:00:00" },
    age,
  });
  const beats = [beat("now", 5), beat("ahead", -20), beat("since", 300), beat("before", 700)];
  // Before Liberty only the row has an age, and whoever disables a service changes that.
  const row = { ...beat("row", 5), last_seen_up: null };
  const more = [beat("never", null), beat("clock", -3600), row];
  assert.deepEqual([...ranSince([...beats, ...more], 600)], ["now", "ahead", "since"]);
  assert.deepEqual([...ranSince([...beats, ...more], null)], ["now", "ahead"]);
});

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

async function told(
  row: Partial<InstanceRow> | null,
  line: Partial<PlannedMachine> = {},
  words: readonly string[] = [],
): Promise<readonly string[]> {
  const rows = new Map(row === null ? [] : [[INSTANCE, { ...ROW, ...row }]]);
  const faults: string[] = [];
  const now = {
    nova: { engine: "mysql" } as const,
    instancesOf: () => Promise.resolve(rows),
    onNodes: () => Promise.resolve(new Map()),
  };
  const found = auditInstances([{ ...LINE, ...line }], now, choiceOf(words));
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
    placed.map(({ host, unchanged: kept, alone, accepted }) => [host, kept, alone, accepted]),
    [
      ["metal", false, true, ""],
      [null, true, false, ""],
      ["metal", false, true, ""],
      ["metal", false, false, "N2I-D201"],
      ["metal", false, true, ""],
    ],
  );
});
