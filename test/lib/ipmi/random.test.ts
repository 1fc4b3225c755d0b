import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../../src/lib/ipmi/talk.ts";

test("random bytes are given away once, whole, and not shared", () => {
  const random = createRandom();
  const given = Array.from({ length: 2000 }, (_, at) => random(at % 2 === 0 ? 16 : 17));
  const texts = given.map((bytes) => bytes.toString("hex"));
  assert.equal(new Set(texts).size, given.length);
  for (const [at, bytes] of given.entries()) {
    assert.equal(bytes.length, at % 2 === 0 ? 16 : 17);
    bytes.fill(0);
    const next = given[at + 1];
    if (next !== undefined) assert.equal(next.toString("hex"), texts[at + 1]);
  }
});

test("random bytes are not zeros where one page ends and the next begins", () => {
  const random = createRandom();
  for (let at = 0; at < 300; at++) assert.notDeepEqual(random(1000), Buffer.alloc(1000));
  assert.throws(() => random(5000), RangeError);
});
