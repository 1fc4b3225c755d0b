import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TokenOwner } from "../../src/model/served.ts";
import { REQUESTED } from "../../src/proxy/rules/decide.ts";
import { openPolicy } from "../../src/serving/policy-file.ts";
import { privateFolder } from "../hostile/deployment.ts";

const LIST = "os_compute_api:os-baremetal-nodes:list";
const READER: TokenOwner = { user_id: "u", project_id: "p", roles: ["reader"], system_scope: null };
const BOTH = Object.values(REQUESTED);

test("whatever has become of a policy file, the rules from before stay in force, and it is said why", (t) => {
  const file = join(privateFolder(t), "policy.yaml");
  const good = `"${LIST}": "role:reader"\n`;
  writeFileSync(file, good);
  const policy = openPolicy(file, BOTH);
  const binary = Buffer.from([0xff, 0xfe, 0, 1, 2, 0x7b]);
  const circle = `"${LIST}": "rule:${LIST}"`;
  const broken: readonly (readonly [why: RegExp, make: () => void])[] = [
    [/cannot be read: no such file or directory \(ENOENT\)$/, () => undefined],
    [/cannot be read: .*\(EISDIR\)$/, () => mkdirSync(file)],
    [/cannot be read: too many .*\(ELOOP\)$/, () => symlinkSync(file, file)],
    [/:1: not YAML/, () => writeFileSync(file, "{")],
    [/:1: it is not a map of rules/, () => writeFileSync(file, binary)],
    [/:1: it is not a map of rules/, () => writeFileSync(file, "- a\n")],
    [/:2: rule .*a parenthesis is not closed/, () => writeFileSync(file, `\n"${LIST}": "(@"\n`)],
    [/:1: .*there is no rule gone/, () => writeFileSync(file, `"${LIST}": "rule:gone"\n`)],
    [/:1: rules refer to each other in a cycle: /, () => writeFileSync(file, circle)],
    [/:1: not YAML/, () => writeFileSync(file, `a: ${"[".repeat(50_000)}`)],
  ];
  for (const [why, make] of broken) {
    rmSync(file, { recursive: true, force: true });
    make();
    const said = policy.reload();
    assert.ok(
      said.startsWith(`${file} was not reloaded, and the previous rules remain in effect: `),
    );
    assert.match(said, why);
    assert.equal(said.split("\n").length, 1);
    assert.equal(policy.allows(REQUESTED.list, READER), true);
  }
  rmSync(file, { recursive: true, force: true });
  writeFileSync(file, good.replace("reader", "member"));
  assert.equal(policy.reload(), `${file} was reloaded, and its rules are in effect.`);
  assert.equal(policy.allows(REQUESTED.list, READER), false);
});

test("without a policy file there is none to read again", () => {
  const policy = openPolicy(undefined, BOTH);
  assert.equal(policy.reload(), "There is no policy file to reload.");
  assert.equal(policy.allows(REQUESTED.list, { ...READER, roles: ["admin"] }), true);
});
