import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { regroup } from "../../src/lib/streams.ts";
import { holdsLater, seeded } from "../support/seeded.ts";

test("a group ends once its items weigh enough, nothing lost and nothing moved", async () => {
  await holdsLater(
    100,
    fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 9 })),
    async (groups) => {
      async function* source(): AsyncGenerator<readonly number[]> {
        yield* groups;
      }
      const sum = (group: readonly number[]) => group.reduce((one, other) => one + other, 0);
      const made: (readonly number[])[] = [];
      for await (const group of regroup(source(), 4, { of: (item) => item, most: 30 }))
        made.push(group);
      assert.deepEqual(made.flat(), groups.flat());
      assert.ok(made.every((group) => sum(group.slice(0, -1)) < 30 && group.length <= 4));
      assert.ok(made.slice(0, -1).every((group) => sum(group) >= 30 || group.length === 4));
    },
  );
});

test("groups of any sizes become groups of one size, nothing lost and nothing moved", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer(), { maxLength: 9 })),
      fc.integer({ min: 1, max: 7 }),
      async (groups, size) => {
        async function* source(): AsyncGenerator<readonly number[]> {
          yield* groups;
        }
        const made: (readonly number[])[] = [];
        for await (const group of regroup(source(), size)) made.push(group);
        assert.deepEqual(made.flat(), groups.flat());
        assert.ok(made.slice(0, -1).every(({ length }) => length === size));
        assert.ok(made.every(({ length }) => length > 0 && length <= size));
      },
    ),
    seeded(100),
  );
});
