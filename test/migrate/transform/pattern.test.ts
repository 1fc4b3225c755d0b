import assert from "node:assert/strict";
import { test } from "node:test";
import { compileSite } from "../../../src/migrate/transform/site.ts";
import type { Machine } from "../../../src/model/machine.ts";

/** Whether an entry for this service_host is for a machine of that one. */
function matches(pattern: string, service_host: string): boolean {
  const decisions = compileSite({
    file: null,
    machines: [{ match: { service_host: pattern }, skip: "it matches" }],
  } as never); // the rest of a site document says nothing here
  // Only the node's columns are asked about.
  return decisions.of({ node: { service_host } } as unknown as Machine).skip !== null;
}

test("a star stands for any text, and everything else for itself in either case", () => {
  for (const [pattern, value, expected] of [
    ["a*c", "abC", true],
    ["A*c", "ac", true],
    ["a*a", "a", false],
    ["*", "", true],
    ["", "", true],
    ["a.c", "abc", false],
    ["*b*", "abc", true],
    ["*b*b*", "abc", false],
    ["a*bc*c", "abc", false],
    ["a*\n", "a\n\n", true],
    ["a**c", "abc", true],
    // Told at once.
    [`${"*a".repeat(60)}*b`, "a".repeat(255), false],
  ] as const)
    assert.equal(matches(pattern, value), expected, `${pattern} ${JSON.stringify(value)}`);
});
