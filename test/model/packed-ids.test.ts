import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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

/** Bytes an id that what is made takes. */
function bytesOf(ids: number, make: () => unknown): number {
  setFlagsFromString("--expose-gc");
  // The flag makes it, in every context from then on.
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const before = used();
  const made = make();
  const bytes = (used() - before) / ids;
  assert.ok(made);
  return bytes;
}

test("rows that a rollback leaves take tens of bytes each, in the journal and in its list", () => {
  const batches = 20;
  const conflicts = (): string[] => Array.from({ length: 5000 }, () => `port:${randomUUID()}`);
  const entryOf = (): Entry => ({
    ...{ do: "undone", ...about, removed: 0, gone: 0, settled: [], conflicts: conflicts() },
  });
  const inJournal = bytesOf(batches * 5000, () => {
    const entries = packEntries();
    for (let batch = 0; batch < batches; batch += 1) entries.push(entryOf());
    return entries;
  });
  assert.ok(inJournal < 20, `${inJournal} bytes an id`);
  const inList = bytesOf(batches * 5000, () => {
    const lefts = createLefts();
    const why = "changed since it was loaded: properties";
    for (let batch = 0; batch < batches; batch += 1)
      lefts.add(conflicts().map((id) => ({ id, why })));
    return lefts.all();
  });
  assert.ok(inList < 24, `${inList} bytes an id`);
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
