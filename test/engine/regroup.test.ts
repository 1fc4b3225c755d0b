import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { regroup } from "../../src/lib/streams.ts";
import { holdsLater } from "../support/seeded.ts";

test("groups of any sizes become groups of one size, or end once they weigh enough, nothing lost and nothing moved", async () => {
  const groups = fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 9 }));
  const most = fc.constantFrom(30, Infinity);
  await holdsLater(
    200,
    groups,
    fc.integer({ min: 1, max: 7 }),
    most,
    async (given, size, limit) => {
      async function* source(): AsyncGenerator<readonly number[]> {
        yield* given;
      }
      const sum = (group: readonly number[]) => group.reduce((one, other) => one + other, 0);
      const weight = limit === Infinity ? undefined : { of: (item: number) => item, most: limit };
      const made: (readonly number[])[] = [];
      for await (const group of regroup(source(), size, weight)) made.push(group);
      assert.deepEqual(made.flat(), given.flat());
      assert.ok(made.every((group) => group.length > 0 && group.length <= size));
      assert.ok(made.every((group) => sum(group.slice(0, -1)) < limit));
      assert.ok(made.slice(0, -1).every((group) => sum(group) >= limit || group.length === size));
    },
  );
});
