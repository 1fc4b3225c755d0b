import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { sameSecret } from "../../../src/model/compare.ts";
import { isSealed, sealedLater } from "../../../src/model/secret.ts";
import { createSeal } from "../../../src/run/files/seal.ts";
import { anyText } from "../../support/any-text.ts";
import { holds } from "../../support/seeded.ts";
import { refuses } from "./temp-run.ts";

const key = Buffer.alloc(32, 7);
const text = anyText;

test("what was sealed opens to the same text, whatever it is", () => {
  const { seal, open } = createSeal(key);
  const other = createSeal(key);
  holds(100, text, text, (clear, place) => {
    const sealed = seal(clear, place);
    assert.equal(open(sealed), clear);
    assert.equal(other.open(sealed), clear);
    assert.equal(sealed.of, place);
    assert.deepEqual(createSeal(key).seal(clear, place), sealed);
  });
});

test("the same key seals to the same bytes in every version: plans compare by them", () => {
  const { id, seal } = createSeal(key);
  assert.equal(id, "7ed4");
  assert.equal(
    seal("calvin", "node").secret,
    "Xi8mmO9gZ5QGP5nX/8XGpQeq9S/mD9T6/takzc7ndo2W/DJi/vdeeaD9GKgUHDdf50cP6eblUuTflSsj",
  );
});

test("what was read to be compared is sealed for whoever looks at it, and in clear nowhere else", () => {
  const seal = createSeal(key);
  holds(100, text, fc.uuid(), fc.uuid(), (clear, one, two) => {
    const read = sealedLater(clear, one, seal);
    const same = sameSecret(seal);
    assert.ok(same(seal.seal(clear, two), read));
    assert.ok(!same(seal.seal(`${clear}.`, two), read));
    assert.ok(isSealed(read));
    const sealed = seal.seal(clear, one);
    assert.equal(JSON.stringify(read), JSON.stringify(sealed));
    assert.deepEqual({ ...read }, sealed);
    assert.equal(seal.open(read), clear);
  });
  const read = { read: sealedLater("calvin", "node", seal) };
  for (const showHidden of [false, true])
    assert.doesNotMatch(inspect(read, { showHidden, getters: true }), /calvin/);
});

test("a secret is known to be a text without being opened, by its own key and place alone", () => {
  const [seal, other] = [createSeal(key), createSeal(Buffer.alloc(32, 9))];
  holds(100, text, text, fc.uuid(), fc.uuid(), (clear, more, place, elsewhere) => {
    const sealed = seal.seal(clear, place);
    assert.ok(seal.isOf(sealed, clear));
    assert.equal(seal.isOf(sealed, more), clear === more);
    assert.ok(!other.isOf(sealed, clear));
    if (elsewhere !== place) assert.ok(!seal.isOf({ ...sealed, of: elsewhere }, clear));
    assert.ok(!seal.isOf({ ...sealed, secret: "" }, clear));
  });
});

test("a secret that was cut short or went on is no text's, and whoever compares it is told", () => {
  const seal = createSeal(key);
  holds(100, text, fc.uuid(), (clear, place) => {
    const sealed = seal.seal(clear, place);
    assert.ok(!seal.isOf({ ...sealed, secret: `${sealed.secret}AAAA` }, clear));
    for (const end of [16, -4]) {
      const secret = sealed.secret.slice(0, end);
      assert.ok(!seal.isOf({ ...sealed, secret }, clear));
      const read = sealedLater(clear, place, seal);
      assert.throws(() => sameSecret(seal)({ ...sealed, secret }, read), refuses("N2I-E115"));
    }
  });
});

test("the ciphertext is not looked at to know a text: spoilt at its length it does not open", () => {
  const seal = createSeal(key);
  const sealed = seal.seal("calvin", "node");
  const secret = `${sealed.secret.slice(0, 16)}${"A".repeat(sealed.secret.length - 16)}`;
  assert.ok(seal.isOf({ ...sealed, secret }, "calvin"));
  assert.throws(() => seal.open({ ...sealed, secret }), refuses("N2I-E115"));
});

test("a text with half a character in it is not the one that its seal opens to, nor another such", () => {
  const seal = createSeal(key);
  const same = sameSecret(seal);
  const [one, other, opened] = ["a\ud800", "a\udbff", "a\ufffd"];
  const sealed = seal.seal(one, "node");
  assert.equal(seal.open(sealed), opened);
  assert.ok(seal.isOf(sealed, opened));
  for (const clear of [one, other]) {
    assert.ok(!seal.isOf(sealed, clear));
    assert.ok(!same(sealed, sealedLater(clear, "node", seal)));
  }
  assert.ok(seal.isOf(seal.seal("a\u{1f600}", "node"), "a\u{1f600}"));
});

test("a secret of another key is no other text's: whoever compares it is told", () => {
  const read = sealedLater("calvin", "node", createSeal(key));
  const strange = createSeal(Buffer.alloc(32, 9)).seal("calvin", "node");
  const same = sameSecret(createSeal(key));
  assert.throws(() => same(strange, read), refuses("N2I-E115"));
  assert.throws(() => same(read, strange), refuses("N2I-E115"));
});

test("what is sealed tells neither its length nor who has the same, and opens at its place alone", () => {
  const { seal, open } = createSeal(key);
  holds(100, text, fc.uuid(), fc.uuid(), (clear, one, two) => {
    fc.pre(one !== two);
    const [a, b] = [seal(clear, one), seal(clear, two)];
    assert.notEqual(a.secret, b.secret);
    assert.notEqual(a.secret.slice(0, 16), b.secret.slice(0, 16));
    open(a); // what is remembered of it is of its place alone, too
    assert.throws(() => open({ ...a, of: two }), refuses("N2I-E115"));
  });
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
