import { createRequire } from "node:module";
import { MigrationError } from "../../lib/error.ts";
import { type Expression, parseRule } from "./policy-expression.ts";
import { ADMIN, inCode } from "./policy-nova.ts";

const require = createRequire(import.meta.url);

/** Of rules in rules, and of what stands in parentheses: oslo.policy ends at Python's 1000 calls. */
const DEEPEST = 500;

/** A rule that a service asks for. */
export interface AskedRule {
  /** What is asked today, then what older releases asked: the first that a file has is in force. */
  readonly names: readonly [today: string, ...older: string[]];
  /** What Nova's code has of it, by name: a file may leave these out. */
  readonly inCode: { readonly [name: string]: string };
}

/** The rules that were asked for, with every rule that they name. */
export interface Policy {
  readonly rules: ReadonlyMap<string, Expression>;
}

/** A rule of the file, not yet understood: one that nobody asks for may be anything. */
interface Written {
  readonly value: unknown;
  /** Counted from 1. */
  readonly line: number;
}

type Refuse = (line: number, why: string) => MigrationError;

/**
 * Nova's policy.yaml or policy.json. What it leaves out is as in Nova's code.
 *
 * @param file its name, for errors
 * @throws MigrationError N2I-E109: it is no such file, or a rule that is asked for, or comes to be, cannot be
 *   understood, names one that does not exist, or comes back to itself
 */
export function readPolicy(text: string, file: string, asked: readonly AskedRule[]): Policy {
  const refuse = refusalsOf(file);
  return link(writtenIn(text, refuse), asked, refuse);
}

/** Nova's own. */
export function defaultPolicy(asked: readonly AskedRule[]): Policy {
  return link(new Map(), asked, refusalsOf("Nova's code"));
}

function refusalsOf(file: string): Refuse {
  return (line, why) => new MigrationError("N2I-E109", `${file}:${line}: ${why}`);
}

function writtenIn(text: string, refuse: Refuse): ReadonlyMap<string, Written> {
  // Loaded when there is something to read.
  const { isMap, isScalar, LineCounter, parseDocument } = require("yaml") as typeof import("yaml");
  // PyYAML reads YAML 1.1, where a key may come twice and the last one counts.
  const lineCounter = new LineCounter();
  const options = { version: "1.1", uniqueKeys: false, lineCounter } as const;
  const document = readable(() => parseDocument(text, options), refuse);
  const lineOf = (offset: number): number => lineCounter.linePos(offset).line;
  for (const { pos, message } of [...document.errors, ...document.warnings])
    throw refuse(lineOf(pos[0]), `not YAML: ${message.split(/ at line|\n/)[0]}`);
  const rules = readable(() => document.toJS({ mapAsMap: true }) as unknown, refuse);
  if (rules === null) return new Map();
  if (!(rules instanceof Map) || !isMap(document.contents))
    throw refuse(1, "it is no map of rules by their names");
  const lines = new Map<unknown, number>();
  for (const { key, value } of document.contents.items) {
    if (!isScalar(key)) continue;
    lines.set(key.value, lineOf(key.range?.[0] ?? 0));
    // A bare ! is YAML's mark of a tag with nothing after it, not the text "!".
    if (isScalar(value) && value.type === "PLAIN" && value.value === "") rules.set(key.value, null);
  }
  return new Map([...rules].map(([name, value]) => [name, { value, line: lines.get(name) ?? 1 }]));
}

/** The library throws at what is nested too deeply, and at an alias that stands for nothing or too much. */
function readable<T>(read: () => T, refuse: Refuse): T {
  try {
    return read();
  } catch (error) {
    throw refuse(1, `not YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Every rule that is asked for, or comes to be, understood. */
function link(
  written: ReadonlyMap<string, Written>,
  wanted: readonly AskedRule[],
  refuse: Refuse,
): Policy {
  const rules = new Map<string, Expression>();
  const tooDeep = (line: number): MigrationError =>
    refuse(line, `rules name each other deeper than ${DEEPEST}`);
  const understood = (name: string): Expression | undefined => {
    const found = written.get(name);
    if (found === undefined) return undefined;
    return parseRule(found.value, (why) => refuse(found.line, `rule ${name}: ${why}`));
  };
  const own = Object.assign({}, ...wanted.map((one) => one.inCode)) as AskedRule["inCode"];
  const asked = new Map(wanted.map((one) => [one.names[0], inForce(one, understood)]));
  const depths = new Map<string, number>();
  /** @returns how deep the rule goes by itself; `above` is what has led to it */
  const visit = (name: string, by: readonly string[], above: number): number => {
    const line = written.get(by.at(-1) ?? "")?.line ?? 1;
    if (by.includes(name))
      throw refuse(line, `rules name each other in a circle: ${[...by, name].join(", ")}`);
    const known = depths.get(name);
    if (known !== undefined) return known;
    if (above > DEEPEST) throw tooDeep(line);
    const rule = asked.get(name) ?? understood(name) ?? inCode(name, own) ?? understood("default");
    if (rule === undefined) throw refuse(line, `rule ${by.at(-1)}: there is no rule ${name}`);
    const depth = depthOf(rule, above, (other, deep) => visit(other, [...by, name], deep));
    if (depth > DEEPEST) throw tooDeep(line);
    rules.set(name, rule);
    depths.set(name, depth);
    return depth;
  };
  for (const name of asked.keys()) visit(name, [], 0);
  // Nova asks it for each caller, before any rule: there "is_admin" is not known yet, so it is no circle.
  if ([...rules.values()].some(asksIsAdmin)) visit(ADMIN, [], 0);
  return { rules };
}

/** The newest name that the file has counts; an older one that does no more than name the newest is passed. */
function inForce(
  { names: [today, ...older], inCode: own }: AskedRule,
  understood: (name: string) => Expression | undefined,
): Expression | undefined {
  const found = understood(today);
  if (found !== undefined) return found;
  for (const name of older) {
    const rule = understood(name);
    if (rule !== undefined && !(rule.kind === "rule" && rule.name === today)) return rule;
  }
  return inCode(today, own);
}

function depthOf(
  rule: Expression,
  above: number,
  of: (name: string, above: number) => number,
): number {
  switch (rule.kind) {
    case "rule":
      return 1 + of(rule.name, above + 1);
    case "not":
      return 1 + depthOf(rule.of, above + 1, of);
    case "all":
    case "any":
      return 1 + rule.of.reduce((most, one) => Math.max(most, depthOf(one, above + 1, of)), 0);
    case "always":
    case "never":
    case "is admin":
    case "role":
    case "attribute":
    case "literal":
      return 1;
  }
}

function asksIsAdmin(rule: Expression): boolean {
  if (rule.kind === "not") return asksIsAdmin(rule.of);
  if (rule.kind === "all" || rule.kind === "any") return rule.of.some(asksIsAdmin);
  return rule.kind === "is admin";
}
