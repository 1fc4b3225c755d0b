import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { credentials, readAsFile, wipe } from "../../../src/lib/ipmi/login.ts";
import { seeded } from "../../support/seeded.ts";

const CASES: readonly (readonly [string, string])[] = [
  ["calvin", "calvin"],
  ["", ""],
  ["12345678901234567890", "12345678901234567890"],
  ["123456789012345678901", "12345678901234567890"],
  ["line\nend", "line"],
  ["line\rend", "line"],
  ["tab\tend", "tab"],
  ["\ttab first", "\ttab first"],
  ["\rend\nrest", "\rend\n"],
  ["\nrest", "\n"],
  ["nul\0end", "nul"],
  ["neunzehn-Zeichen-ööö", "neunzehn-Zeichen-ö\xc3"],
];

for (const [password, read] of CASES) {
  test(`of the password ${JSON.stringify(password)} ipmitool reads ${JSON.stringify(read)}`, () => {
    const wanted = read.endsWith("\xc3")
      ? Buffer.concat([Buffer.from(read.slice(0, -1)), Buffer.from([0xc3])])
      : Buffer.from(read);
    assert.deepEqual(readAsFile(Buffer.from(password)), wanted);
    assert.equal(credentials("u", password, null)?.cut, read !== password);
  });
}

test("never more than 20 bytes of a password are used, and they are its first", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const read = readAsFile(Buffer.from(bytes));
      assert.ok(read.length <= 20);
      assert.deepEqual(read, Buffer.from(bytes.subarray(0, read.length)));
    }),
    seeded(100),
  );
});

test("wiped credentials hold zeros", () => {
  const known = credentials("admin", "throwaway", Buffer.from("kg"));
  assert.ok(known !== null);
  wipe(known);
  assert.ok(known.password.every((byte) => byte === 0) && known.kg?.every((byte) => byte === 0));
});
