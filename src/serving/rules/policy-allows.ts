import type { TokenOwner } from "../../model/served.ts";
import type { Expression } from "./policy-expression.ts";
import { ADMIN, type Policy, type RequestedRule } from "./policy-read.ts";

type Value = string | boolean | null;
type Target = ReadonlyMap<string, Value>;

interface PolicyRequest {
  readonly policy: Policy;
  readonly roles: readonly string[];
  readonly attributes: ReadonlyMap<string, Value>;
  /** Null during the evaluation of `context_is_admin`, when no is_admin check matches. */
  readonly isAdmin: boolean | null;
  readonly target: Target;
}

/** As in Nova, the request has no target, so no `%(...)s` matches. */
export function allows(policy: Policy, { names }: RequestedRule, who: TokenOwner): boolean {
  const attributes = attributesOf(who);
  const asked = { policy, roles: who.roles, attributes };
  // Nova evaluates `context_is_admin` with the caller as the target.
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
    // Without is_admin_project in the token, every project may have administrators.
    ["is_admin_project", who.is_admin_project ?? true],
  ]);
}

/** The policy contains every rule that its checks can reach. */
function named(name: string, asked: PolicyRequest): boolean {
  const rule = asked.policy.get(name);
  return rule !== undefined && holds(rule, asked);
}

function holds(rule: Expression, asked: PolicyRequest): boolean {
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

function attributeMatches(name: string, wanted: string | null, asked: PolicyRequest): boolean {
  if (wanted === null) return false;
  if (name === "roles") return asked.roles.includes(wanted);
  const value = asked.attributes.get(name);
  return value !== undefined && written(value) === wanted;
}

/** Fills in `%(name)s` from the target. Null if the target lacks a name. */
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

function written(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return value;
}
