import assert from "node:assert/strict";
import { test } from "node:test";
import { stringify } from "yaml";
import { MigrationError } from "../../src/lib/error.ts";
import type { TokenOwner } from "../../src/model/served.ts";
import { REQUESTED } from "../../src/proxy/rules/decide.ts";
import { allows, defaultPolicy, readPolicy as readAsked } from "../../src/serving/rules/policy.ts";
import { callers, policies } from "../support/policies.ts";
import { holds } from "../support/seeded.ts";

const LIST = "os_compute_api:os-baremetal-nodes:list";
const SHOW = "os_compute_api:os-baremetal-nodes:show";
const ROOT = "os_compute_api:os-baremetal-nodes";
const JUNO = "compute_extension:baremetal_nodes";

const MEMBER: TokenOwner = { user_id: "u", project_id: "p", roles: ["member"], system_scope: null };
const ADMIN: TokenOwner = { ...MEMBER, roles: ["member", "Admin"] };

const BOTH_ASKED = Object.values(REQUESTED);
const readPolicy = (text: string, file: string) => readAsked(text, file, BOTH_ASKED);

/** Who may list: admin, member. */
function listed(rules: Readonly<Record<string, unknown>> | string): readonly boolean[] {
  const policy = readPolicy(typeof rules === "string" ? rules : JSON.stringify(rules), "p.yaml");
  return [allows(policy, REQUESTED.list, ADMIN), allows(policy, REQUESTED.list, MEMBER)];
}

const [ADMIN_ONLY, MEMBER_ONLY] = [true, false].map((admin) => [admin, !admin]);
const [BOTH, NOBODY] = [true, false].map((allowed) => [allowed, allowed]);

test("without a file, and by one that says nothing of nodes, an administrator alone may", () => {
  for (const rule of BOTH_ASKED) {
    assert.equal(allows(defaultPolicy(BOTH_ASKED), rule, ADMIN), true);
    assert.equal(allows(defaultPolicy(BOTH_ASKED), rule, MEMBER), false);
  }
  const other = '"os_compute_api:servers:index": "@"';
  for (const text of ["", "# only comments\n", "{}", "---\n", other])
    assert.deepEqual(listed(text), ADMIN_ONLY, text);
});

test("checks are joined as in oslo.policy", () => {
  const said = (rule: unknown) => listed({ [LIST]: rule });
  assert.deepEqual(said("role:member and not role:admin"), MEMBER_ONLY);
  assert.deepEqual(said("role:nobody or role:member and role:ADMIN"), ADMIN_ONLY);
  assert.deepEqual(said("(role:nobody or role:member) AND not (role:admin)"), MEMBER_ONLY);
  assert.deepEqual(said("not not @"), BOTH);
  assert.deepEqual(said(""), BOTH);
  assert.deepEqual(said([]), BOTH);
  assert.deepEqual(said([[]]), NOBODY);
  assert.deepEqual(said([["role:member", "role:admin"], "role:nobody"]), ADMIN_ONLY);
  assert.deepEqual(said("is_admin:True"), ADMIN_ONLY);
  assert.deepEqual(said("is_admin:False"), MEMBER_ONLY);
  assert.deepEqual(said("user_id:u and project_id:p"), BOTH);
  assert.deepEqual(said("system_scope:None"), BOTH);
  assert.deepEqual(said("system_scope:all"), NOBODY);
});

test("nothing matches a target that is not there", () => {
  for (const rule of ["project_id:%(project_id)s", "'p':%(project_id)s", "role:%(role.name)s"])
    assert.deepEqual(listed({ [LIST]: rule }), NOBODY, rule);
  assert.deepEqual(listed({ [LIST]: "rule:admin_or_owner" }), ADMIN_ONLY);
});

test("the newest name that a file has is in force", () => {
  assert.deepEqual(listed({ [ROOT]: "role:member" }), BOTH);
  assert.deepEqual(listed({ [JUNO]: "role:member" }), BOTH);
  assert.deepEqual(listed({ [JUNO]: "@", [ROOT]: "!" }), NOBODY);
  assert.deepEqual(listed({ [ROOT]: "@", [LIST]: "role:admin" }), ADMIN_ONLY);
  // What Nova's sample file has, uncommented.
  assert.deepEqual(listed({ [ROOT]: `rule:${LIST}` }), ADMIN_ONLY);
  const policy = readPolicy(JSON.stringify({ [ROOT]: `rule:${LIST}`, [LIST]: "@" }), "p.yaml");
  assert.equal(allows(policy, REQUESTED.show, MEMBER), true);
});

test("policy.json of Juno admits administrators, whoever its site says these are", () => {
  const juno = {
    context_is_admin: [["role:admin"], ["role:member"]],
    admin_or_owner: "is_admin:True or project_id:%(project_id)s",
    default: "rule:admin_or_owner",
    admin_api: "is_admin:True",
    [JUNO]: "rule:admin_api",
  };
  assert.deepEqual(listed(juno), BOTH);
  assert.deepEqual(listed({ ...juno, context_is_admin: "role:admin" }), ADMIN_ONLY);
  assert.deepEqual(listed({ ...juno, [JUNO]: "rule:elsewhere" }), BOTH);
});

test("the last of two rules of one name counts, and an anchor is what it stands for", () => {
  assert.deepEqual(listed(`"${LIST}": "!"\n"${LIST}": "@"\n`), BOTH);
  assert.deepEqual(listed(`x: &who "role:member"\n"${LIST}": *who\n`), BOTH);
  assert.deepEqual(listed(`<<: {"${LIST}": "@"}\n`), BOTH);
});

test("a fault in a rule that is reached is refused with its line", () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ["rule:gone", /there is no rule gone/],
    ["rule:round", /cycle: .*:list, round, again, round$/],
    ["http://localhost/", /refers to another server/],
    ["role:a role:b", /"role:b" is used instead of "and" or "or"/],
    ["role:a or", /a check is missing at the end/],
    ["(role:a", /not closed/],
    ["role:a)", /"\)" is used instead of/],
    ["and role:a", /"and" is not a check/],
    ["  ", /a check is missing/],
    ["admin", /"admin" is not a check/],
    [":admin", /is not a check/],
    ['"role:a"', /neither the name of an attribute nor a literal/],
    ["role:%s", /has a %/],
    ["project_id:100%", /has a %/],
    ["1x:1", /neither/],
    [`${"(".repeat(5000)}@${")".repeat(5000)}`, /nested deeper/],
  ];
  for (const [rule, why] of faults) {
    const text = stringify({ unreached: "role:", again: "rule:round", round: "rule:again" });
    assert.throws(
      () => readPolicy(`# Nova's\n${text}"${LIST}": ${JSON.stringify(rule)}\n`, "nova/policy.yaml"),
      (error) =>
        error instanceof MigrationError &&
        error.exit === 64 &&
        why.test(error.message) &&
        /^nova\/policy\.yaml:[3-5]: /.test(error.message),
      rule,
    );
    // Nobody asks for it.
    assert.deepEqual(listed({ unasked: rule, round: "rule:round" }), ADMIN_ONLY);
  }
});

test("what is no text and no list of texts is refused, an empty value too", () => {
  for (const value of ["", "!", "~", "yes", "5", "{a: b}", "[5]", "[[5]]", "!x role:admin"])
    assert.throws(() => readPolicy(`a: b\n"${LIST}": ${value}\n`, "p"), /^MigrationError: p:2: /);
  const faults = ["- a", "a", '{"a": ', "a: b\n---\nc: d", "a: @", "<<: 5", "a: *gone"];
  faults.push(`a: &a [b, b]\nc: &c [${"*a,".repeat(60)}]\nd: [${"*c,".repeat(60)}]`);
  for (const text of faults) assert.throws(() => readPolicy(text, "p"), /^MigrationError: p:\d: /);
});

test("rules that would go deeper than can be followed are refused, and many that do not are read", () => {
  const chain = (length: number): string => {
    const rules = Array.from({ length }, (_, at) => [`r${at}`, `rule:r${at + 1}`]);
    return JSON.stringify(Object.fromEntries([[LIST, "rule:r0"], ...rules, [`r${length}`, "@"]]));
  };
  assert.deepEqual(listed(chain(100)), BOTH);
  for (const text of [chain(5000), `a: ${"[".repeat(5000)}${"]".repeat(5000)}`])
    assert.throws(() => readPolicy(text, "p"), /^MigrationError: p:\d+: /);
  const wide = Array.from({ length: 5000 }, () => "role:nobody").join(" or ");
  assert.deepEqual(listed({ [LIST]: `${wide} or role:member` }), BOTH);
});

test("a faulty rule of Nova's own name refuses only if it is reached", () => {
  const without = { context_is_admin: "broken", [LIST]: "role:member", [SHOW]: "@", [ROOT]: "x" };
  assert.deepEqual(listed(without), BOTH);
  assert.throws(() => readPolicy('{"context_is_admin": "broken"}', "p"), /context_is_admin/);
  const reached = JSON.stringify({ context_is_admin: "x", [LIST]: "is_admin:True" });
  assert.throws(() => readPolicy(reached, "p"), /context_is_admin/);
});

test("any policy is read, the same as YAML and as JSON, and its negation says the opposite", () => {
  holds(60, policies, callers, (rules, who) => {
    const said = (text: string) => allows(readPolicy(text, "p"), REQUESTED.list, who);
    const json = said(JSON.stringify(rules, null, "\t"));
    assert.equal(said(stringify(rules, { version: "1.1" })), json);
    if (rules[LIST] === undefined) return;
    const opposite = { ...rules, [LIST]: "not rule:was", was: rules[LIST] };
    assert.equal(said(JSON.stringify(opposite)), !json);
  });
});
