import fc from "fast-check";
import type { TokenOwner } from "../../src/model/served.ts";

const ROLES = ["admin", "member", "reader", "operator", "None"] as const;

export const callers: fc.Arbitrary<TokenOwner> = fc
  .record({
    user_id: fc.constantFrom("u1", "u2"),
    project_id: fc.constantFrom("p1", "p2", null),
    roles: fc.uniqueArray(fc.constantFrom(...ROLES, "Admin"), { maxLength: 3 }),
    system_scope: fc.constantFrom(null, null, "all"),
    domain_id: fc.constantFrom("", "d1"),
    is_admin_project: fc.boolean(),
  })
  .map(({ domain_id, ...rest }) => ({ ...rest, ...(domain_id === "" ? {} : { domain_id }) }));

const attributes = fc.constantFrom(
  ...(["user_id", "project_id", "system_scope", "domain_id", "is_admin_project", "roles"] as const),
);
const values = fc.constantFrom(
  ...["u1", "p1", "all", "d1", "None", "True", "admin", "%(project_id)s", "%(user_id)s", "%(no)s"],
);

/** A check that names no rule. */
const plain = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ROLES, "ADMIN").map((role) => `role:${role}`) },
  { weight: 2, arbitrary: fc.tuple(attributes, values).map(([name, value]) => `${name}:${value}`) },
  fc.constantFrom("@", "!"),
  fc.constantFrom("True", "False", "true", "yes").map((text) => `is_admin:${text}`),
  fc.constantFrom("nosuch:x", "no.such:x", "True:True", "1:1", "'x':x", "None:None", "system:all"),
  fc.constantFrom("True:%(enabled)s", "user_id:100%%", "role:%(user_id)s", "role:a:b", "user_id:"),
);

/** A rule over such checks, as an operator may write it. */
function rule(checks: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const { either } = fc.letrec<{ either: string; all: string; one: string }>((tie) => ({
    either: chain(tie("all"), ["or", " or ", "OR"]),
    all: chain(tie("one"), ["and", "And"]),
    one: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      checks,
      fc.tuple(fc.constantFrom("not", "NOT"), tie("one")).map(([not, one]) => `${not} ${one}`),
      tie("either").map((inner) => `(${inner})`),
      tie("either").map((inner) => `( ${inner} )`),
    ),
  }));
  const list = fc.array(fc.oneof(checks, fc.array(checks, { maxLength: 3 })), { maxLength: 3 });
  return fc.oneof({ weight: 4, arbitrary: either }, list, fc.constant(""));
}

function chain(part: fc.Arbitrary<string>, words: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 3 }), fc.constantFrom(...words))
    .map(([parts, word]) => parts.join(` ${word} `));
}

function naming(...names: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: plain },
    fc.constantFrom(...names).map((name) => `rule:${name}`),
  );
}

const IN_CODE = [
  ...["context_is_admin", "admin_api", "admin_or_owner", "project_member_api"],
  ...["project_reader_api", "project_member_or_admin", "project_reader_or_admin"],
];

/** Whole files, in which no rule comes back to itself and each that is named exists. */
export const policies: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.record(
  {
    a: rule(naming("b", "c", ...IN_CODE)),
    b: rule(naming("c", ...IN_CODE)),
    c: rule(plain),
    "os_compute_api:os-baremetal-nodes:list": rule(naming("a", "b", ...IN_CODE)),
    "os_compute_api:os-baremetal-nodes:show": rule(naming("a", "b", ...IN_CODE)),
    "os_compute_api:os-baremetal-nodes": fc.oneof(
      rule(naming("a", "c", ...IN_CODE)),
      fc.constant("rule:os_compute_api:os-baremetal-nodes:list"),
    ),
    context_is_admin: rule(plain),
    admin_api: rule(plain),
    project_reader_api: rule(plain),
    default: rule(plain),
    "os_compute_api:servers:index": rule(plain),
  },
  { requiredKeys: ["a", "b", "c"] },
);
