import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isPlainlyHome,
  isSecretName,
  mayContainSecret,
  sealed,
  strayed,
  unsealed,
} from "../../src/model/secret.ts";
import { anyText } from "../support/any-text.ts";
import { holds } from "../support/seeded.ts";

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
  holds(100, names, fc.boolean(), (key, nested) => {
    fc.pre(isSecretName(key));
    const object = { [key]: "x" };
    assert.ok(mayContainSecret(JSON.stringify(nested ? { a: [object] } : object)));
  });
});

test("what an idle node holds is spared the look at every key", () => {
  assert.ok(!mayContainSecret('{"nova_bm": {"id": 1, "pxe_config_path": "/tftpboot/a/config"}}'));
  assert.ok(mayContainSecret('{"p\\u0061ssword": 1}'));
});

const hides = {
  seal: (clear: string, of: string) => ({ secret: `sealed ${clear}`, of }),
  open: ({ secret }: { readonly secret: string }) => secret.slice("sealed ".length),
};

test("what holds no secret is given back as it is, and what holds one is copied", () => {
  const plain = JSON.parse('{"a": [1, {"b": null}], "__proto__": {"c": 2}, "password": null}');
  assert.equal(sealed(plain, hides, "u"), plain);
  assert.equal(unsealed(plain, hides), plain);
  const given = JSON.parse('{"a": [1, {"bmc_password": "x"}], "__proto__": {"token": 2}, "d": {}}');
  const before = JSON.stringify(given);
  const made = sealed(given, hides, "u");
  assert.equal(JSON.stringify(given), before);
  assert.equal(
    JSON.stringify(made),
    '{"a":[1,{"bmc_password":{"secret":"sealed x","of":"u"}}],"__proto__":{"token":{"secret":"sealed \\u00002","of":"u"}},"d":{}}',
  );
  const known = { x: { secret: "sealed y", of: "u" }, z: 1 };
  assert.deepEqual(unsealed({ deep: known, same: 1 }, hides), { deep: { x: "y", z: 1 }, same: 1 });
});

const isHome = (place: string): boolean => place === "home" || place === "host:*";
const some = fc.constantFrom("home", "HOME", "host:*", "other", "", 'home"', "home\\", "h\u00f6me");
const secrets = fc.oneof(
  fc.record({ secret: fc.constantFrom("abc=", "", '"', "\\", ","), of: some }),
  fc.record({ of: some, secret: fc.constant("abc=") }),
  fc.record({ secret: fc.constant("abc="), of: some, empty: fc.constant(true) }),
  fc.record({ secret: fc.constant("abc="), of: some, more: some }),
  fc.record({ secret: fc.constant("abc="), length: fc.constant(4) }),
  fc.constantFrom("secret", '{"secret":"a","of":"other"}', '{"secret":"a","of":"home"}', 1, null),
);

test("text of which it is said that its secrets are at home has none that is not", () => {
  let plain = 0;
  holds(2000, fc.dictionary(anyText, fc.oneof(secrets, fc.array(secrets))), (line) => {
    const text = JSON.stringify(line);
    if (!isPlainlyHome(text, isHome)) return;
    plain += 1;
    assert.equal(strayed(JSON.parse(text), isHome), null, text);
  });
  assert.ok(plain > 20, `${plain} were taken for plain`);
});

test("what a forger might write is not taken for a secret that is at home", () => {
  const refused = [
    '{"a":{"secret":"x","of":"other"}}',
    '{"a":{"secret":"x","of":"home","of":"other"}}',
    '{"a":{"of":"other","secret":"x"}}',
    '{"a":{"secret" :"x","of":"other"}}',
    '{"a":{"secr\\u0065t":"x","of":"other"}}',
    '{"a":{"secret":"x","\\u006ff":"other"}}',
    '{"a":{"secret":"x","of":"home","empty":true,"of":"other"}}',
    '{"a":{"secret":"x","length":1}}',
  ];
  for (const text of refused) assert.ok(!isPlainlyHome(text, isHome), text);
  assert.ok(isPlainlyHome('{"a":[{"secret":"x","of":"Home"}],"b":1}', isHome));
  assert.ok(isPlainlyHome('{"a":{"secret":"","of":"host:*","empty":true}}', isHome));
  assert.ok(isPlainlyHome('{"a":1}', isHome));
});
