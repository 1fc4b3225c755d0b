import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSeal } from "../../../src/edge/disk/seal.ts";
import { refuses } from "./temp-run.ts";

const key = Buffer.alloc(32, 7);
const text = fc.string({ unit: "binary" });

test("what was sealed opens to the same text, whatever it is", () => {
  const { seal, open } = createSeal(key);
  const other = createSeal(key);
  fc.assert(
    fc.property(text, text, (clear, place) => {
      const sealed = seal(clear, place);
      assert.equal(open(sealed), clear);
      assert.equal(other.open(sealed), clear);
      assert.equal(sealed.length, [...clear].length);
      assert.deepEqual(createSeal(key).seal(clear, place), sealed);
    }),
  );
});

test("the same secret at two places gives different bytes and the same fingerprint", () => {
  const { seal, fingerprint } = createSeal(key);
  fc.assert(
    fc.property(text, fc.uuid(), fc.uuid(), (clear, one, two) => {
      fc.pre(one !== two);
      const [a, b] = [seal(clear, one), seal(clear, two)];
      assert.notEqual(a.secret, b.secret);
      assert.equal(fingerprint(a), fingerprint(b));
      assert.match(fingerprint(a), /^[0-9a-f]{4}$/);
    }),
  );
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
  assert.throws(() => other.fingerprint(sealed), refuses("N2I-E115"));
});

test("a sealed secret that was changed in any byte does not open", () => {
  const { seal, open } = createSeal(key);
  const sealed = seal("calvin", "node");
  const bytes = Buffer.from(sealed.secret, "base64");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const secret = changed.toString("base64");
    assert.throws(() => open({ secret, length: 6 }), refuses("N2I-E115"));
  }
  for (const secret of ["", "AAAA", "%%%"]) {
    assert.throws(() => open({ secret, length: 0 }), refuses("N2I-E115"));
  }
});
