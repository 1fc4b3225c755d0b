import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSeal } from "../../../src/edge/disk/seal.ts";
import { anyText } from "../../support/any-text.ts";
import { refuses } from "./temp-run.ts";

const key = Buffer.alloc(32, 7);
const text = anyText;

test("what was sealed opens to the same text, whatever it is", () => {
  const { seal, open } = createSeal(key);
  const other = createSeal(key);
  fc.assert(
    fc.property(text, text, (clear, place) => {
      const sealed = seal(clear, place);
      assert.equal(open(sealed), clear);
      assert.equal(other.open(sealed), clear);
      assert.equal(sealed.of, place);
      assert.deepEqual(createSeal(key).seal(clear, place), sealed);
    }),
  );
});

test("what is sealed tells neither its length nor who has the same, and opens at its place alone", () => {
  const { seal, open } = createSeal(key);
  fc.assert(
    fc.property(text, fc.uuid(), fc.uuid(), (clear, one, two) => {
      fc.pre(one !== two);
      const [a, b] = [seal(clear, one), seal(clear, two)];
      assert.notEqual(a.secret, b.secret);
      assert.notEqual(a.secret.slice(0, 16), b.secret.slice(0, 16));
      assert.throws(() => open({ ...a, of: two }), refuses("N2I-E115"));
    }),
  );
});

test("passwords that a BMC takes have one length", () => {
  const { seal } = createSeal(key);
  const sizes = ["", "a", "x".repeat(20), "\u00e9".repeat(15)].map(
    (clear) => seal(clear, "node").secret.length,
  );
  assert.equal(new Set(sizes).size, 1);
});

test("no nonce serves two texts, not even with NULs in place and text", () => {
  const { seal } = createSeal(key);
  const nonce = (clear: string, place: string): string => seal(clear, place).secret.slice(0, 16);
  assert.notEqual(nonce("\0b", "a"), nonce("b", "a\0"));
  assert.notEqual(nonce("b\0c", "a"), nonce("c", "a\0b"));
});

test("places and texts that read alike when joined are kept apart", () => {
  const { seal, open } = createSeal(key);
  assert.equal(open(seal("bc", "a")), "bc");
  assert.equal(open(seal("c", "ab")), "c");
  assert.equal(open(seal("\0c", "a\0b")), "\0c");
});

test("another key opens nothing, and its refusal tells nothing of the secret", () => {
  const sealed = createSeal(key).seal("calvin", "node");
  const other = createSeal(Buffer.alloc(32, 8));
  assert.notEqual(other.id, createSeal(key).id);
  assert.match(other.id, /^[0-9a-f]{4}$/);
  assert.throws(() => other.open(sealed), refuses("N2I-E115", other.id));
});

test("a sealed secret that was changed in any byte does not open", () => {
  const { seal, open } = createSeal(key);
  const sealed = seal("calvin", "node");
  const bytes = Buffer.from(sealed.secret, "base64");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const secret = changed.toString("base64");
    assert.throws(() => open({ secret, of: "node" }), refuses("N2I-E115"));
  }
  for (const secret of ["", "AAAA", "%%%"]) {
    assert.throws(() => open({ secret, of: "node" }), refuses("N2I-E115"));
  }
});
