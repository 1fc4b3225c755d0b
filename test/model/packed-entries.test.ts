import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf } from "../../src/core/handover/guards.ts";
import { begunIn } from "../../src/engine/begun.ts";
import {
  batchesOf,
  besideMachines,
  type Entries,
  type Entry,
  entriesOf,
  plansNamed,
  plansOf,
  targetOf,
} from "../../src/model/journal.ts";
import { packEntries } from "../../src/model/packed-entries.ts";

const at = "2026-01-01T00:00:07.012Z";
const by = "root@host";
const span = { part: "ironic", plan: "ab".repeat(32), from: 0, to: 50, at };
const U1 = "1be26c0b-03f2-4d2e-ae87-c02d7f33c781";

/** Every kind, and machines of two parts among batches of a third. */
const ENTRIES: readonly Entry[] = [
  { do: "open", format: "nova2ironic/journal@2", tool: "0.1" },
  { do: "target", system: "ironic", target: { host: "db", port: 1 }, at },
  { do: "begin", ...span, by },
  { do: "done", ...span, created: 49, found: ["node:x"] },
  { do: "start", part: "hand-over", id: U1, at, by },
  { do: "end", part: "hand-over", id: U1, at: "2026-01-01T00:00:08.000Z" },
  { do: "start", part: "hand-over", id: "U2", at: "", by: "", observed: {} },
  {
    do: "start",
    part: "finish",
    id: U1,
    at: "yesterday",
    by,
    observed: { fields: ["a", 1, null] },
  },
  { do: "return", part: "finish", id: U1, at, by: "another" },
  { do: "returned", part: "finish", id: U1, at, left: { why: "änderung" } },
  { do: "returned", part: "hand-over", id: "U2", at },
  { do: "undo", ...span, nodes: [U1], by },
  { do: "start", part: "hand-over", id: U1, at, by, observed: { again: true } },
  { do: "close", plan: "ab".repeat(32), at, by },
  { do: "end", part: "finish", id: U1.toUpperCase(), at: "2026-01-01T00:00:59.999Z" },
  { do: "end", part: "finish", id: "ports", at: "2026-01-01 00:00:59.999Z" },
  { do: "end", part: "finish", id: U1, at: "2026-01-01T00:00:5a.999Z" },
  { do: "end", part: "finish", id: U1, at: "2026-01-01T00:00:59.9990" },
  { do: "end", part: "finish", id: U1, at: "2026-01-01T00:00:59,999Z" },
];

function packed(): Entries {
  const entries = packEntries();
  for (const entry of ENTRIES) entries.push(entry);
  return entries;
}

test("packed entries are those that were put, in their order, field by field", () => {
  const entries = packed();
  assert.deepEqual([...entries], ENTRIES);
  assert.equal(JSON.stringify(entries), JSON.stringify(ENTRIES));
  assert.equal(entries.length, ENTRIES.length);
  for (let position = -ENTRIES.length - 1; position <= ENTRIES.length; position += 1)
    assert.deepEqual(entries.at(position), ENTRIES.at(position), `at ${position}`);
  assert.deepEqual(
    [...entries].map((entry) => Object.keys(entry)),
    ENTRIES.map((entry) => Object.keys(entry)),
  );
});

test("packed entries answer as an array of them does", () => {
  const asked: { readonly [what: string]: (entries: Entries) => unknown } = {
    every: (all) => [all.every((one) => "do" in one), all.every((one) => one.do === "open")],
    some: (all) => [all.some((one) => one.do === "close"), all.some((one) => one.do === "reopen")],
    filter: (all) => all.filter((one) => "id" in one && one.id === U1),
    find: (all) => [all.find((one) => one.do === "start"), all.find((one) => one.do === "reopen")],
    findLast: (all) => [
      all.findLast((one) => one.do === "start"),
      all.findLast((one) => one.do === "reopen"),
    ],
    findLastIndex: (all) => [
      all.findLastIndex((one) => one.do === "returned"),
      all.findLastIndex((one) => one.do === "reopen"),
    ],
    flatMap: (all) => all.flatMap((one) => ("at" in one ? [one.do, one.at] : [])),
    slice: (all) => [0, 3, -1, -3, -99, 99].map((from) => all.slice(from)),
    entriesOf: (all) =>
      [["hand-over"], ["finish", "ironic"], ["ironic"], ["nobody"], []].map((parts) => [
        ...entriesOf(all, ...parts),
      ]),
    batchesOf: (all) => [batchesOf(all, "ironic"), batchesOf(all, "hand-over")],
    plans: (all) => [plansNamed(all), plansOf(all, "ironic")],
    besideMachines: (all) => [...besideMachines(all)],
    targetOf: (all) => [targetOf(all, "ironic"), targetOf(all, "nova")],
    endOf,
    handed: (all) => [...begunIn(all, "hand-over")],
    "handed, and taken back": (all) => [...begunIn(all, "hand-over", "ironic")],
    finished: (all) => [...begunIn(all, "finish", "ironic")],
  };
  for (const [what, ask] of Object.entries(asked))
    assert.deepEqual(ask(packed()), ask(ENTRIES), what);
});

test("entries so far are the same whatever is added later", () => {
  const entries = packEntries();
  for (const entry of ENTRIES.slice(0, 5)) entries.push(entry);
  const before = entries.soFar();
  for (const entry of ENTRIES.slice(5)) entries.push(entry);
  const first = ENTRIES.slice(0, 5);
  for (const one of [before, first]) {
    assert.deepEqual([...one], first);
    assert.equal(one.length, 5);
    assert.deepEqual([one.at(-1), one.at(5)], [first.at(-1), undefined]);
    assert.deepEqual(one.slice(-2), first.slice(-2));
    assert.equal(
      one.findLastIndex(({ do: what }) => what === "start"),
      4,
    );
    assert.deepEqual([...entriesOf(one, "ironic")], first.slice(2, 4));
    assert.deepEqual([...besideMachines(one)], first.slice(0, 4));
    assert.deepEqual([...entriesOf(one, "hand-over", "ironic")], first.slice(2));
  }
  assert.deepEqual([...entries], ENTRIES);
});

test("entries that come while others are gone through are met, as those of an array are", () => {
  const entries = packEntries();
  for (const entry of ENTRIES.slice(0, 5)) entries.push(entry);
  const met: Entry[] = [];
  for (const entry of entries) {
    met.push(entry);
    const next = ENTRIES[entries.length];
    if (next !== undefined) entries.push(next);
  }
  assert.deepEqual(met, ENTRIES);
});
