import assert from "node:assert/strict";
import { test } from "node:test";
import { outOfLimits } from "../../../src/cli/options/declared.ts";
import { SHARED } from "../../../src/cli/options/shared.ts";
import { choiceOf, createSelection } from "../../../src/migrate/hosts/rules/choice.ts";
import { createGate } from "../../../src/migrate/hosts/rules/gate.ts";
import { restOfMinute, runningComputes } from "../../../src/migrate/hosts/rules/running.ts";
import { instanceStep } from "../../../src/migrate/hosts/rules/steps.ts";
import { invert } from "../../../src/model/change.ts";
import type { Machine } from "../../../src/model/machine.ts";
import type { InstanceRow } from "../../../src/model/nova/nova-rows.ts";

const machine = (service_host: string | null, row = {}) => ({
  service_host,
  records: [{ resource: "node" as const, row }],
});

test("the first choice that fits a machine counts, and the one for all comes last wherever it stands", () => {
  const { of, targets } = choiceOf([
    "rest",
    ...["group:rack7=grouped", "shard:s1=sharded", "compute-1=one", "compute-2=one"],
  ]);
  assert.equal(of(machine("compute-1")), "one");
  assert.equal(of(machine("compute-1", { conductor_group: "rack7" })), "grouped");
  assert.equal(of(machine("compute-1", { conductor_group: "rack7", shard: "s1" })), "grouped");
  assert.equal(of(machine("compute-9", { shard: "s1" })), "sharded");
  assert.equal(of(machine("compute-9", { shard: "s2", conductor_group: "" })), "rest");
  assert.equal(of(machine(null)), "rest");
  assert.deepEqual(
    [...targets],
    [
      ["grouped", null],
      ["sharded", null],
      ["one", ["compute-1", "compute-2"]],
      ["rest", null],
    ],
    "from a group, a shard or all of them machines of any host may come",
  );
});

test("without a choice that fits, a machine keeps its host", () => {
  assert.equal(choiceOf([]).of(machine("compute-1")), null);
  const { of } = choiceOf(["group:rack7=grouped"]);
  assert.equal(of(machine("rack7", { conductor_group: null, shard: "rack7" })), null);
});

test("a name may hold colons where it is no selector, and a host that another choice names gets both", () => {
  assert.equal(choiceOf(["host:compute-1=a:b"]).of(machine("compute-1")), "a:b");
  const { targets } = choiceOf(["compute-1=metal", "metal"]);
  assert.deepEqual([...targets], [["metal", null]]);
});

test("a host whose name looks like a selector is another than the group of that name", () => {
  const { of, targets } = choiceOf(["host:group:rack7=hosted", "group:rack7=grouped"]);
  assert.equal(of(machine("group:rack7")), "hosted");
  assert.equal(of(machine("rack7", { conductor_group: "rack7" })), "grouped");
  assert.deepEqual(targets.get("hosted"), ["group:rack7"]);
  assert.equal(choiceOf(["host", "host=a"]).of(machine("host")), "a");
});

for (const words of [
  ["metal", "iron"],
  ["compute-1=metal", "host:compute-1=iron"],
  ["group:rack7=metal", "group:rack7=iron"],
])
  test(`${words.join(" and ")} contradict each other`, () => {
    assert.throws(() => choiceOf(words), /^MigrationError: .*specifies both metal and iron/);
    assert.equal(choiceOf([...words.slice(0, 1), ...words.slice(0, 1)]).targets.size, 1);
  });

for (const word of [
  "group:rack7",
  "shard:s1",
  "host:compute-1",
  "rack:r7=x",
  "=x",
  "compute-1=",
  "",
  "a=b=c",
  `x=${"y".repeat(256)}`,
  " iron",
  "compute-1 =iron",
])
  test(`${JSON.stringify(word.slice(0, 12))} is not understood`, () => {
    assert.match(outOfLimits(SHARED["compute-host"], word) ?? "", /^NAME, HOST=NAME/);
  });

test("a compute host whose name is not plain ASCII is a warning, as a column of nova may not hold it", () => {
  const codes = (name: string) =>
    createSelection(choiceOf([name]))
      .end()
      .map(({ code }) => code);
  assert.deepEqual(codes("eisen-\u0142\u00f3d\u017a"), ["N2I-D245"]);
  assert.deepEqual(codes("iron"), []);
});

/** Of a machine only its row's id and uuid are looked at. */
const MACHINE = { node: { id: 1, uuid: "a-1" } } as Machine;

/** Codes against a machine whose instance is under this host, in the order machines come. */
function codes(
  clustered: boolean,
  machines: readonly (readonly [string, Partial<Parameters<ReturnType<typeof createGate>>[2]>])[],
) {
  const gate = createGate(clustered, { engine: "mysql" });
  return machines.map(([host, runs]) =>
    gate(
      MACHINE,
      { uuid: "b-1", host, node: "A-1" },
      { host, isServed: true, loads: true, ...runs },
    ).map(({ code }) => code),
  );
}

const HOSTS = ["c-1", "c-2", "c-1", "c-3"].map((host) => [host, {}] as const);

test("where Nova allows one compute host, it is that of the first machine; later Novas have any", () => {
  assert.deepEqual(codes(true, HOSTS), [[], ["N2I-D227"], [], ["N2I-D227"]]);
  assert.deepEqual(codes(false, HOSTS), [[], [], [], []]);
});

test("a machine that does not load for another reason decides nothing", () => {
  const first = [
    ["c-9", { loads: false }],
    ["c-8", { isServed: false }],
    ["c-7", { host: "c-6" }],
  ] as const;
  assert.deepEqual(codes(true, [...first, ...HOSTS.slice(0, 2)]), [
    ...[[], ["N2I-D225"], ["N2I-D225"]],
    ...[[], ["N2I-D227"]],
  ]);
});

test("everything wrong with an instance's place is told in one finding", () => {
  const [found] = createGate(true, { engine: "mysql" })(
    MACHINE,
    { uuid: "b-1", host: null, node: "a-2" },
    { host: "c-1", isServed: false, loads: true },
  );
  assert.equal(
    found?.message,
    'instances.host will be NULL, its nova-compute "c-1"; no live nova-compute is called "c-1"; instances.node will be "a-2"',
  );
});

test("another spelling of a node is its machine to MySQL alone", () => {
  const runs = { host: "c-1", isServed: true, loads: true };
  for (const [engine, node, faults] of [
    ["mysql", "A-1", 0],
    ["postgresql", "A-1", 1],
    ["postgresql", "a-1", 0],
    ["mysql", "a-2", 1],
  ] as const) {
    const found = createGate(false, { engine })(MACHINE, { uuid: "b-1", host: "c-1", node }, runs);
    assert.equal(found.length, faults, `${engine} ${node}`);
  }
});

const BEAT = { id: 1, host: "c-1", report_count: 10, last_seen_up: null, age: 900 };

test("an age under a minute is enough, on either side of the server's clock", () => {
  for (const age of [0, 59, -59]) {
    const now = [{ ...BEAT, age }];
    assert.deepEqual(runningComputes(now, now), [`c-1 ${age} s ago`]);
  }
});

test("an old report, one from the future and none at all say nothing while they stand still", () => {
  for (const age of [60, 1e9, -60, -7200, null])
    assert.deepEqual(runningComputes([{ ...BEAT, age }], [{ ...BEAT, age }]), []);
});

test("a row that moved or came is a nova-compute that runs, one that went is none", () => {
  const told = ["c-1 while it was watched (report_count is now 11)"];
  assert.deepEqual(runningComputes([BEAT], [{ ...BEAT, report_count: 11 }]), told);
  assert.deepEqual(runningComputes([], [{ ...BEAT, report_count: 11 }]), told);
  const seen = { ...BEAT, last_seen_up: "2014-12-01 00:00:10" };
  assert.equal(runningComputes([BEAT], [seen]).length, 1);
  assert.deepEqual(runningComputes([BEAT], []), []);
});

test("the rest of a minute that is nearly over is waited for, and a young report is not", () => {
  const rest = (...ages: readonly (number | null)[]) =>
    restOfMinute(ages.map((age) => ({ ...BEAT, age })));
  assert.equal(rest(56), 4);
  assert.equal(rest(58, 51, 900, null), 9);
  assert.equal(rest(56, 20), 0);
  assert.equal(rest(-56), 0);
  assert.equal(rest(900, null), 0);
  assert.equal(rest(), 0);
});

const MADE = { uuid: "a-1", instance_uuid: "b-1" };
const ROW: InstanceRow = {
  ...{ id: 7, uuid: "B-1", host: "c-1", node: "A-1", task_state: null, deleted: 0 },
};
const step = (row: Partial<InstanceRow>, to = "metal") =>
  instanceStep("A-1", MADE, { ...ROW, ...row }, to);

test("a node that is spelled otherwise is written as Ironic spells it, and the step is its machine's as the plan names it", () => {
  const made = step({});
  assert.equal(made?.machine, "A-1");
  assert.equal(made?.after?.node, "a-1");
  assert.equal(made?.after?.host, "metal");
  assert.deepEqual(step({}, "c-1")?.after?.node, "a-1");
  assert.equal(step({ node: "a-1" }, "c-1"), null);
});

for (const node of [null, "1", "a-2"])
  test(`instances.node ${node} becomes the machine, and comes back`, () => {
    const made = step({ node }, "c-1");
    assert.ok(made);
    assert.equal(made.after?.node, "a-1");
    assert.equal(invert(made).after?.node, node);
  });

test("no step is made for what is deleted, is not there, or is no more the node's", () => {
  assert.equal(step({ deleted: 7 }), null);
  assert.equal(instanceStep("A-1", MADE, null, "metal"), null);
  for (const made of [
    { ...MADE, instance_uuid: null },
    { ...MADE, instance_uuid: "b-2" },
    undefined,
  ])
    assert.equal(instanceStep("A-1", made, ROW, "metal"), null);
});
