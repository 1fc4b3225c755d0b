import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ahead } from "../../src/model/streams.ts";

/** Numbers from 1, telling what became of it. */
function numbers(last: number, failAt = 0) {
  const told = { begun: 0, closed: false };
  async function* source(): AsyncGenerator<number> {
    try {
      for (let at = 1; at <= last; at++) {
        told.begun = at;
        await turn();
        if (at === failAt) throw new Error(`number ${at}`);
        yield at;
      }
    } finally {
      told.closed = true;
    }
  }
  return { told, source: source() };
}

test("items come in their order, and exactly one is begun before it is asked for", async () => {
  const { told, source } = numbers(5);
  const seen: number[] = [];
  for await (const item of ahead(source)) {
    await turn();
    assert.equal(told.begun, Math.min(item + 1, 5));
    seen.push(item);
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  assert.ok(told.closed);
});

test("an item that fails ahead of time is told in its turn, after those before it", async () => {
  const { told, source } = numbers(5, 3);
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const item of ahead(source)) {
      await turn();
      await turn();
      seen.push(item);
    }
  }, /number 3/);
  assert.deepEqual(seen, [1, 2]);
  assert.ok(told.closed);
});

test("who stops early leaves nothing open behind, even when the next item fails", async () => {
  for (const failAt of [0, 2]) {
    const { told, source } = numbers(5, failAt);
    for await (const item of ahead(source)) if (item === 1) break;
    assert.equal(told.begun, 2);
    assert.ok(told.closed);
  }
});
