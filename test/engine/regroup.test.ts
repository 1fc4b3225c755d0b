import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { regroup } from "../../src/model/streams.ts";

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
  );
});
