import type { TokenOwner } from "../../model/served.ts";
import type { Expression } from "./policy-expression.ts";
import { ADMIN } from "./policy-nova.ts";
import type { AskedRule, Policy } from "./policy-read.ts";

type Value = string | boolean | null;
type Target = ReadonlyMap<string, Value>;

/** What a rule is held against. */
interface Asked {
  readonly policy: Policy;
  readonly roles: readonly string[];
  readonly attributes: ReadonlyMap<string, Value>;
  /** Null while it is being found out: then no check of it holds. */
  readonly isAdmin: boolean | null;
  readonly target: Target;
}

/** Whether Nova would let him: as in Nova, the request has no target, so no `%(...)s` matches. */
export function allows(policy: Policy, { names }: AskedRule, who: TokenOwner): boolean {
  const attributes = attributesOf(who);
  const asked = { policy, roles: who.roles, attributes };
  // Who is an administrator is asked with the caller himself for the target.
  const self = new Map([
    ["user_id", who.user_id],
    ["project_id", who.project_id],
  ]);
  const isAdmin = named(ADMIN, { ...asked, isAdmin: null, target: self });
  return named(names[0], { ...asked, isAdmin, target: new Map() });
}

function attributesOf(who: TokenOwner): Target {
  return new Map<string, Value>([
    ["user_id", who.user_id],
    ["user_domain_id", who.user_domain_id ?? null],
    ["project_id", who.project_id],
    ["project_domain_id", who.project_domain_id ?? null],
    ["domain_id", who.domain_id ?? null],
    ["system_scope", who.system_scope],
    ...(who.system_scope === null ? [] : [["system", who.system_scope] as const]),
    // Unless Keystone says so, every project may have administrators.
    ["is_admin_project", who.is_admin_project ?? true],
  ]);
}

/** A name that was never reached when the policy was read is one that nothing asks for. */
function named(name: string, asked: Asked): boolean {
  const rule = asked.policy.rules.get(name);
  return rule !== undefined && holds(rule, asked);
}

function holds(rule: Expression, asked: Asked): boolean {
  switch (rule.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "all":
      return rule.of.every((one) => holds(one, asked));
    case "any":
      return rule.of.some((one) => holds(one, asked));
    case "not":
      return !holds(rule.of, asked);
    case "rule":
      return named(rule.name, asked);
    case "is admin":
      return asked.isAdmin === rule.expected;
    case "role": {
      const wanted = filled(rule.match, asked.target)?.toLowerCase();
      return asked.roles.some((role) => role.toLowerCase() === wanted);
    }
    case "attribute":
      return attributeMatches(rule.name, filled(rule.match, asked.target), asked);
    case "literal":
      return rule.value === filled(rule.match, asked.target);
  }
}

function attributeMatches(name: string, wanted: string | null, asked: Asked): boolean {
  if (wanted === null) return false;
  if (name === "roles") return asked.roles.includes(wanted);
  const value = asked.attributes.get(name);
  return value !== undefined && written(value) === wanted;
}

/** The text with what the target has for each `%(name)s`, or null where it has not all of them. */
function filled(match: string, target: Target): string | null {
  let whole = true;
  const text = match.replace(/%(?:%|\(([^()]*)\)s)/g, (_, name: string | undefined) => {
    if (name === undefined) return "%";
    const value = target.get(name);
    if (value === undefined) whole = false;
    return written(value ?? null);
  });
  return whole ? text : null;
}

/** As Python writes it. */
function written(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return value;
}
