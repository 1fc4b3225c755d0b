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
  const request = { policy, roles: who.roles, attributes };
  // Nova evaluates `context_is_admin` with the caller as the target.
  const self = new Map([
    ["user_id", who.user_id],
    ["project_id", who.project_id],
  ]);
  const isAdmin = ruleAllows(ADMIN, { ...request, isAdmin: null, target: self });
  return ruleAllows(names[0], { ...request, isAdmin, target: new Map() });
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
function ruleAllows(name: string, request: PolicyRequest): boolean {
  const rule = request.policy.get(name);
  return rule !== undefined && holds(rule, request);
}

function holds(rule: Expression, request: PolicyRequest): boolean {
  switch (rule.kind) {
    case "all":
      return rule.of.every((one) => holds(one, request));
    case "any":
      return rule.of.some((one) => holds(one, request));
    case "not":
      return !holds(rule.of, request);
    case "rule":
      return ruleAllows(rule.name, request);
    case "is admin":
      return request.isAdmin === rule.expected;
    case "role": {
      const expected = filled(rule.match, request.target)?.toLowerCase();
      return request.roles.some((role) => role.toLowerCase() === expected);
    }
    case "attribute":
      return attributeMatches(rule.name, filled(rule.match, request.target), request);
    case "literal":
      return rule.value === filled(rule.match, request.target);
  }
}

function attributeMatches(name: string, expected: string | null, request: PolicyRequest): boolean {
  if (expected === null) return false;
  if (name === "roles") return request.roles.includes(expected);
  const value = request.attributes.get(name);
  return value !== undefined && written(value) === expected;
}

/** Fills in `%(name)s` from the target. Null if the target lacks a name. */
function filled(match: string, target: Target): string | null {
  let complete = true;
  const text = match.replace(/%(?:%|\(([^()]*)\)s)/g, (_, name: string | undefined) => {
    if (name === undefined) return "%";
    const value = target.get(name);
    if (value === undefined) complete = false;
    return written(value ?? null);
  });
  return complete ? text : null;
}

function written(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return value;
}
