/** A parsed rule. The text after a colon may refer to the target: `%(project_id)s`. */
export type Expression =
  /** `all` of none always applies, `any` of none never. */
  | { readonly kind: "all" | "any"; readonly of: readonly Expression[] }
  | { readonly kind: "not"; readonly of: Expression }
  | { readonly kind: "rule"; readonly name: string }
  | { readonly kind: "role"; readonly match: string }
  | { readonly kind: "is admin"; readonly expected: boolean }
  | { readonly kind: "attribute"; readonly name: string; readonly match: string }
  | { readonly kind: "literal"; readonly value: string; readonly match: string };

type Refuse = (reason: string) => Error;

const ALWAYS: Expression = { kind: "all", of: [] };
const NEVER: Expression = { kind: "any", of: [] };

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
    .map((inner: unknown) => joined("all", listed(inner, refuse)));
  return joined("any", any);
}

function listed(inner: unknown, refuse: Refuse): readonly Expression[] {
  return (Array.isArray(inner) ? inner : [inner]).map((check: unknown) => {
    if (typeof check !== "string") throw refuse("a list contains a value that is not a string");
    return parseCheck(check, refuse);
  });
}

function joined(kind: "all" | "any", of: readonly Expression[]): Expression {
  const [only] = of;
  return only !== undefined && of.length === 1 ? only : { kind, of };
}

function parseText(text: string, refuse: Refuse): Expression {
  const tokens = text.split(/\s+/).flatMap(tokensOf);
  let at = 0;
  const taken = (keyword: string): boolean => {
    if (tokens[at]?.toLowerCase() !== keyword) return false;
    at += 1;
    return true;
  };
  const chain = (kind: "all" | "any", keyword: string, next: () => Expression): Expression => {
    const of = [next()];
    while (taken(keyword)) of.push(next());
    return joined(kind, of);
  };
  const any = (depth: number): Expression =>
    chain("any", "or", () => chain("all", "and", () => one(depth)));
  const one = (depth: number): Expression => {
    if (depth > DEPTH) throw refuse(`it is nested deeper than ${DEPTH}`);
    if (taken("not")) return { kind: "not", of: one(depth + 1) };
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
  if (kind === "rule") return { kind: "rule", name: match };
  if (kind === "is_admin") return { kind: "is admin", expected: match.toLowerCase() === "true" };
  if (kind === "http" || kind === "https")
    throw refuse(`"${check}" refers to another server, which is not supported`);
  if (!TEMPLATE.test(match)) throw refuse(`"${match}" has a % that is not of the form %(name)s`);
  if (kind === "role") return { kind: "role", match };
  const value = literal(kind);
  if (value !== null) return { kind: "literal", value, match };
  if (!NAME.test(kind)) throw refuse(`"${kind}" is neither the name of an attribute nor a literal`);
  return { kind: "attribute", name: kind, match };
}

/** Python's text of a Python literal, or null. */
function literal(kind: string): string | null {
  if (["True", "False", "None"].includes(kind) || INTEGER.test(kind)) return kind;
  return QUOTED.exec(kind)?.[2] ?? null;
}
