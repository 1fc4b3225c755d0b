import assert from "node:assert/strict";
import { test } from "node:test";
import type { Left } from "../../src/model/change.ts";
import type { Entry } from "../../src/model/journal.ts";
import { MANY } from "../../src/model/packed.ts";
import { packEntries } from "../../src/model/packed-entries.ts";
import { createLefts, packIds } from "../../src/model/packed-ids.ts";

const U1 = "1be26c0b-03f2-4d2e-ae87-c02d7f33c781";
const IDS: readonly string[] = [
  ...[`node:${U1}`, U1, `port:${U1}`, `node:${U1.toUpperCase()}`, "", "instances:17", `${U1}!`],
  ...[`ä:${U1}`, U1.replaceAll("-", ""), `node:${U1}${U1}`, `${U1}:`, "\u0000", `node:${U1}`],
];
const about = { part: "ironic", plan: "p", from: 0, to: 500, at: "2026-01-01T00:00:00.000Z" };

test("packed ids are those that were put, in their order", () => {
  for (const ids of [IDS, [], ["x"], [U1]]) {
    const packed = packIds(ids);
    assert.deepEqual([...packed], ids);
    assert.equal(packed.length, ids.length);
  }
  const words = Array.from({ length: 300 }, (_, word) => `${word}:${U1}`);
  assert.deepEqual([...packIds(words)], words);
  const pushed = packIds();
  const all = Array.from({ length: 400 }, () => IDS).flat();
  for (const id of all) pushed.push(id);
  assert.deepEqual([...pushed], all);
});

test("what was left is the same however much it is", () => {
  for (const length of [0, 3, MANY + 5]) {
    const left = Array.from(
      { length },
      (_, at): Left => ({ id: IDS[at % 13] ?? "", why: `${at % 3}` }),
    );
    const lefts = createLefts();
    for (let from = 0; from < length; from += 7) lefts.add(left.slice(from, from + 7));
    assert.equal(lefts.all().length, length);
    assert.deepEqual([...lefts.all()], left);
  }
});

test("a long list of an entry is its list still", () => {
  const conflicts = Array.from({ length: 40 }, () => IDS).flat();
  const entry: Entry = {
    ...{ do: "undone", ...about, removed: 1, gone: 2, settled: ["a"], conflicts },
  };
  const entries = packEntries();
  entries.push(entry);
  assert.deepEqual([...entries], [entry]);
  assert.equal(JSON.stringify(entries), JSON.stringify([entry]));
});
