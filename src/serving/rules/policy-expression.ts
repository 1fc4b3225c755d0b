type Value = string | boolean | null;
type Target = ReadonlyMap<string, Value>;

interface PolicyRequest {
  readonly policy: ReadonlyMap<string, Expression>;
  readonly roles: readonly string[];
  readonly attributes: Target;
  /** Null during the evaluation of `context_is_admin`, when no is_admin check matches. */
  readonly isAdmin: boolean | null;
  readonly target: Target;
}

/** A parsed rule. */
export interface Expression {
  readonly holds: (request: PolicyRequest) => boolean;
  /** Rules to which it refers. */
  readonly rules: readonly string[];
  /** The only rule to which it refers, without another check. */
  readonly alias?: string;
  /** It has a check of is_admin. */
  readonly admin: boolean;
}

type Refuse = (reason: string) => Error;

const ALWAYS = of([], () => true);
const NEVER = of([], () => false);

const DEPTH = 100;
/** A Python % template with names only. */
const TEMPLATE = /^(?:[^%]|%%|%\([^()]*\)s)*$/;
const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const QUOTED = /^(['"])([^'"\\]*)\1$/;
const NAME = /^[A-Za-z_][\w.-]*$/;

/**
 * A text, or a list of lists (Nova's policy.json through Juno: "or" of "and"). Refuses rules that
 * oslo.policy silently reads as never, and an empty value, which it reads as always.
 *
 * @source oslo.policy 4.0, _parser.py and _checks.py
 */
export function parseRule(rule: unknown, refuse: Refuse): Expression {
  if (typeof rule === "string") return rule === "" ? ALWAYS : parseText(rule, refuse);
  if (!Array.isArray(rule)) throw refuse('it is neither a string nor a list (write "@" or "!")');
  if (rule.length === 0) return ALWAYS;
  const any = rule
    .filter((inner: unknown) => inner !== "" && !(Array.isArray(inner) && inner.length === 0))
    .map((inner: unknown) => joined("every", listed(inner, refuse)));
  return joined("some", any);
}

function listed(inner: unknown, refuse: Refuse): readonly Expression[] {
  return (Array.isArray(inner) ? inner : [inner]).map((check: unknown) => {
    if (typeof check !== "string") throw refuse("a list contains a value that is not a string");
    return parseCheck(check, refuse);
  });
}

/** An expression with the checks of its parts. */
function of(parts: readonly Expression[], holds: Expression["holds"]): Expression {
  const admin = parts.some((part) => part.admin);
  return { holds, rules: parts.flatMap(({ rules }) => rules), admin };
}

function joined(kind: "every" | "some", parts: readonly Expression[]): Expression {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return of(parts, (request) => parts[kind]((part) => part.holds(request)));
}

function parseText(text: string, refuse: Refuse): Expression {
  const tokens = text.split(/\s+/).flatMap(tokensOf);
  let at = 0;
  const taken = (keyword: string): boolean => {
    if (tokens[at]?.toLowerCase() !== keyword) return false;
    at += 1;
    return true;
  };
  const chain = (kind: "every" | "some", keyword: string, next: () => Expression): Expression => {
    const parts = [next()];
    while (taken(keyword)) parts.push(next());
    return joined(kind, parts);
  };
  const any = (depth: number): Expression =>
    chain("some", "or", () => chain("every", "and", () => one(depth)));
  const one = (depth: number): Expression => {
    if (depth > DEPTH) throw refuse(`it is nested deeper than ${DEPTH}`);
    if (taken("not")) {
      const inner = one(depth + 1);
      return of([inner], (request) => !inner.holds(request));
    }
    if (taken("(")) {
      const inner = any(depth + 1);
      if (!taken(")")) throw refuse("a parenthesis is not closed");
      return inner;
    }
    const token = tokens[at];
    if (token === undefined) throw refuse("a check is missing at the end");
    if (/^(?:and|or|\))$/i.test(token)) throw refuse(`"${token}" is not a check`);
    at += 1;
    return parseCheck(token, refuse);
  };
  const expression = any(0);
  if (at < tokens.length) throw refuse(`"${tokens[at]}" is used instead of "and" or "or"`);
  return expression;
}

/** Parentheses inside a word belong to `%(name)s`. */
function tokensOf(text: string): readonly string[] {
  const check = text.replace(/^\(+/, "");
  const bare = check.replace(/\)+$/, "");
  const tokens = [
    ..."(".repeat(text.length - check.length),
    bare,
    ...")".repeat(check.length - bare.length),
  ];
  return tokens.filter((token) => token !== "");
}

function parseCheck(check: string, refuse: Refuse): Expression {
  if (check === "@") return ALWAYS;
  if (check === "!") return NEVER;
  const colon = check.indexOf(":");
  if (colon < 1) throw refuse(`"${check}" is not a check: write KIND:VALUE, "@" or "!"`);
  const kind = check.slice(0, colon);
  const match = check.slice(colon + 1);
  if (kind === "rule")
    return {
      ...{ rules: [match], alias: match, admin: false },
      // The policy contains every rule that its checks can reach.
      holds: (request) => request.policy.get(match)?.holds(request) === true,
    };
  if (kind === "is_admin") {
    const expected = match.toLowerCase() === "true";
    return { rules: [], admin: true, holds: ({ isAdmin }) => isAdmin === expected };
  }
  if (kind === "http" || kind === "https")
    throw refuse(`"${check}" refers to another server, which is not supported`);
  if (!TEMPLATE.test(match)) throw refuse(`"${match}" has a % that is not of the form %(name)s`);
  const value = literal(kind);
  if (value === null && !NAME.test(kind))
    throw refuse(`"${kind}" is neither the name of an attribute nor a literal`);
  return of([], (request) => {
    const expected = filled(match, request.target);
    if (expected === null) return false;
    if (kind === "role")
      return request.roles.some((role) => role.toLowerCase() === expected.toLowerCase());
    if (value !== null) return value === expected;
    if (kind === "roles") return request.roles.includes(expected);
    const attribute = request.attributes.get(kind);
    return attribute !== undefined && written(attribute) === expected;
  });
}

/** Python's text of a Python literal, or null. */
function literal(kind: string): string | null {
  if (["True", "False", "None"].includes(kind) || INTEGER.test(kind)) return kind;
  return QUOTED.exec(kind)?.[2] ?? null;
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
