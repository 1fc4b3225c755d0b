import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf, createSelection } from "../../../src/migrate/hosts/rules/choice.ts";

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
    assert.throws(() => choiceOf(words), /^MigrationError: .*names both metal and iron/);
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
])
  test(`${JSON.stringify(word.slice(0, 12))} is not understood`, () => {
    assert.throws(() => choiceOf([word]), { code: "N2I-E100" });
  });

test("a compute host whose name is not plain ASCII is a warning, as a column of nova may not hold it", () => {
  const codes = (name: string) =>
    createSelection(choiceOf([name]))
      .end()
      .map(({ code }) => code);
  assert.deepEqual(codes("eisen-\u0142\u00f3d\u017a"), ["N2I-D245"]);
  assert.deepEqual(codes("iron"), []);
});
