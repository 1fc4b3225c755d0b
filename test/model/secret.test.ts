import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isSecretName, mayHoldSecret } from "../../src/model/secret.ts";
import { anyText } from "../support/any-text.ts";

const WORDS = [
  "pass",
  "Pwd",
  "secret",
  "token",
  "cred",
  "community",
  "configdrive",
  "key",
  "kg_key",
];
const name = fc.tuple(anyText, fc.constantFrom(...WORDS), anyText).map((parts) => parts.join(""));
const names = fc.oneof(name, fc.constantFrom("ssh_key_contents", "deploy_key", "key", "KEY"));

test("JSON text with a key that names a secret is never taken for one without, however it is nested", () => {
  fc.assert(
    fc.property(names, fc.boolean(), (key, nested) => {
      fc.pre(isSecretName(key));
      const object = { [key]: "x" };
      assert.ok(mayHoldSecret(JSON.stringify(nested ? { a: [object] } : object)));
    }),
  );
});

test("what an idle node holds is spared the look at every key", () => {
  assert.ok(!mayHoldSecret('{"nova_bm": {"id": 1, "pxe_config_path": "/tftpboot/a/config"}}'));
  assert.ok(mayHoldSecret('{"p\\u0061ssword": 1}'));
});
