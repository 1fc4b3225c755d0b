import assert from "node:assert/strict";
import { test } from "node:test";
import { compileSite } from "../../../src/core/transform/site.ts";
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
  ] as const)
    assert.equal(matches(pattern, value), expected, `${pattern} ${JSON.stringify(value)}`);
});

test("a pattern of many stars is told from a long text at once", () => {
  assert.equal(matches(`${"*a".repeat(60)}*b`, "a".repeat(255)), false);
});

test("of a list one text has to fit, and one that no machine has is reported", () => {
  const { of, unmatched } = compileSite({
    file: "site.yaml",
    machines: [{ match: { uuid: ["A-1", "b-*", "c-3"], id: "1" }, skip: "it matches" }],
  } as never); // the rest of a site document says nothing here
  // Only the node's columns are asked about.
  const skipped = (node: object) => of({ node } as unknown as Machine).skip !== null;
  assert.deepEqual(
    [
      ...[skipped({ uuid: "a-1", id: 1 }), skipped({ uuid: "B-2", id: 1 })],
      ...[skipped({ uuid: "a-1", id: 2 }), skipped({ uuid: "d", id: 1 })],
    ],
    [true, true, false, false],
  );
  assert.deepEqual(
    unmatched().map(({ code, message }) => `${code} ${message}`),
    ['N2I-D310 no machine has {"uuid":"c-3"}'],
  );
});

test("a text that is twice in a list, or fits beside another, is no text that no machine has", () => {
  const { of, unmatched } = compileSite({
    file: "site.yaml",
    machines: [{ match: { uuid: ["a-1", "A-1", "a-*", "a-1*"] }, skip: "it matches" }],
  } as never); // the rest of a site document says nothing here
  of({ node: { uuid: "a-1", id: 1 } } as unknown as Machine);
  assert.deepEqual(unmatched(), []);
});
