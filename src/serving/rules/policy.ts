import { createRequire } from "node:module";
import { MigrationError } from "../../lib/error.ts";
import type { TokenOwner } from "../../model/served.ts";
import { type Expression, parseRule } from "./policy-expression.ts";

/** The rule that decides is_admin in Nova. */
const ADMIN = "context_is_admin";

const require = createRequire(import.meta.url);

/** Rules that name each other. oslo.policy fails at Python's recursion limit of 1000. */
const DEEPEST = 500;

export interface RequestedRule {
  /** The current name, then older names. The first one that the file defines is in force. */
  readonly names: readonly [today: string, ...older: string[]];
  /** Defaults in Nova's code by rule name, which a file may omit. */
  readonly inCode: { readonly [name: string]: string };
}

export type Policy = ReadonlyMap<string, Expression>;

/** A rule of the file before parsing. Unused rules are not parsed. */
interface Written {
  readonly value: unknown;
  readonly line: number;
}

type Refuse = (line: number, reason: string) => MigrationError;

/**
 * Omitted rules have the default of Nova's code.
 *
 * @throws MigrationError N2I-E109 if the file is invalid, or a used rule is invalid, undefined or
 *   circular
 */
export function readPolicy(text: string, file: string, requests: readonly RequestedRule[]): Policy {
  const refuse = refusalsOf(file);
  return link(writtenIn(text, refuse), requests, refuse);
}

export function defaultPolicy(requested: readonly RequestedRule[]): Policy {
  return link(new Map(), requested, refusalsOf("Nova's code"));
}

function refusalsOf(file: string): Refuse {
  return (line, reason) => new MigrationError("N2I-E109", `${file}:${line}: ${reason}`);
}

function writtenIn(text: string, refuse: Refuse): ReadonlyMap<string, Written> {
  const { isMap, isScalar, LineCounter, parseDocument } = require("yaml") as typeof import("yaml");
  // PyYAML reads YAML 1.1, where the last of two equal keys applies.
  const lineCounter = new LineCounter();
  const options = { version: "1.1", uniqueKeys: false, lineCounter } as const;
  const document = readable(() => parseDocument(text, options), refuse);
  const lineOf = (offset: number): number => lineCounter.linePos(offset).line;
  for (const { pos, message } of [...document.errors, ...document.warnings])
    throw refuse(lineOf(pos[0]), `not YAML: ${message.split(/ at line|\n/)[0]}`);
  const rules = readable(() => document.toJS({ mapAsMap: true }) as unknown, refuse);
  if (rules === null) return new Map();
  if (!(rules instanceof Map) || !isMap(document.contents))
    throw refuse(1, "it is not a map of rules by name");
  const lines = new Map<unknown, number>();
  for (const { key, value } of document.contents.items) {
    if (!isScalar(key)) continue;
    lines.set(key.value, lineOf(key.range?.[0] ?? 0));
    // YAML reads a bare ! as an empty tag, not as the text "!".
    if (isScalar(value) && value.type === "PLAIN" && value.value === "") rules.set(key.value, null);
  }
  return new Map([...rules].map(([name, value]) => [name, { value, line: lines.get(name) ?? 1 }]));
}

/** The library throws on deep nesting, and on aliases that are undefined or expand too much. */
function readable<T>(read: () => T, refuse: Refuse): T {
  try {
    return read();
  } catch (error) {
    throw refuse(1, `not YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function link(
  written: ReadonlyMap<string, Written>,
  requests: readonly RequestedRule[],
  refuse: Refuse,
): Policy {
  const rules = new Map<string, Expression>();
  const understood = (name: string): Expression | undefined => {
    const found = written.get(name);
    if (found === undefined) return undefined;
    return parseRule(found.value, (reason) => refuse(found.line, `rule ${name}: ${reason}`));
  };
  const base = Object.assign({}, ...requests.map((one) => one.inCode)) as RequestedRule["inCode"];
  /** The newest name in the file applies. An older rule that only names the newest is skipped. */
  const inForce = ({ names, inCode: defaults }: RequestedRule): Expression | undefined => {
    const [today] = names;
    for (const name of names) {
      const rule = understood(name);
      if (rule !== undefined && (name === today || rule.alias !== today)) return rule;
    }
    return inCode(today, defaults);
  };
  const roots = new Map(requests.map((one) => [one.names[0], inForce(one)]));
  const visit = (name: string, by: readonly string[]): void => {
    const line = written.get(by.at(-1) ?? "")?.line ?? 1;
    if (by.includes(name))
      throw refuse(line, `rules refer to each other in a cycle: ${[...by, name].join(", ")}`);
    if (rules.has(name)) return;
    if (by.length > DEEPEST) throw refuse(line, `rules refer to each other deeper than ${DEEPEST}`);
    const rule = roots.get(name) ?? understood(name) ?? inCode(name, base) ?? understood("default");
    if (rule === undefined) throw refuse(line, `rule ${by.at(-1)}: there is no rule ${name}`);
    for (const other of rule.rules) visit(other, [...by, name]);
    rules.set(name, rule);
  };
  for (const name of roots.keys()) visit(name, []);
  // Nova evaluates it per caller before every rule, without is_admin, so this is not a circle.
  if ([...rules.values()].some(({ admin }) => admin)) visit(ADMIN, []);
  return rules;
}

const OWNER = "is_admin:True or project_id:%(project_id)s";

/**
 * Rules in Nova's code since Newton. The text of a deprecated rule includes its replacement,
 * because Nova accepts either unless enforce_new_defaults is set.
 *
 * @source nova newton-eol through stable/2026.1, nova/policies/base.py; comments name the releases of a rule
 */
const IN_CODE: ReadonlyMap<string, string> = new Map([
  [ADMIN, "role:admin"],
  ["admin_or_owner", OWNER],
  ["admin_api", "is_admin:True"],
  ["network:attach_external_network", "is_admin:True"],
  // Ussuri through Xena
  ["system_admin_api", "role:admin and system_scope:all or is_admin:True"],
  ["system_reader_api", "role:reader and system_scope:all or is_admin:True"],
  ["system_admin_or_owner", `rule:system_admin_api or rule:project_member_api or ${OWNER}`],
  ["system_or_project_reader", `rule:system_reader_api or rule:project_reader_api or ${OWNER}`],
  // Ussuri through Yoga
  ["project_admin_api", "role:admin and project_id:%(project_id)s or is_admin:True"],
  // Ussuri and later
  ["project_member_api", `role:member and project_id:%(project_id)s or ${OWNER}`],
  ["project_reader_api", `role:reader and project_id:%(project_id)s or ${OWNER}`],
  // Yoga and later
  ["project_reader_or_admin", `rule:project_reader_api or rule:${ADMIN} or ${OWNER}`],
  ["project_member_or_admin", `rule:project_member_api or rule:${ADMIN} or ${OWNER}`],
  // 2025.1 and later
  ["project_manager_api", "role:manager and project_id:%(project_id)s or is_admin:True"],
  ["project_manager_or_admin", `rule:project_manager_api or rule:${ADMIN} or is_admin:True`],
  ["service_api", "role:service or is_admin:True"],
  ["service_or_admin", `rule:service_api or rule:${ADMIN} or is_admin:True`],
]);

/** @param rules those in the code of the service @returns undefined if no release has that name */
function inCode(name: string, rules: { readonly [name: string]: string }): Expression | undefined {
  const text = Object.hasOwn(rules, name) ? rules[name] : IN_CODE.get(name);
  return text === undefined ? undefined : parseRule(text, (reason) => new Error(reason));
}

/** As in Nova, the request has no target, so no `%(...)s` matches. */
export function allows(policy: Policy, { names }: RequestedRule, who: TokenOwner): boolean {
  const { roles, ...fields } = who;
  const { user_id, project_id, system_scope: system } = who;
  const attributes = new Map(
    Object.entries<string | boolean | null>({
      ...{ user_domain_id: null, project_domain_id: null, domain_id: null },
      // Without is_admin_project in the token, every project may have administrators.
      ...{ is_admin_project: true, ...fields },
      ...(system !== null && { system }),
    }),
  );
  const request = { policy, roles, attributes };
  // Nova evaluates `context_is_admin` with the caller as the target.
  const self = new Map(Object.entries({ user_id, project_id }));
  const isAdmin = policy.get(ADMIN)?.holds({ ...request, isAdmin: null, target: self }) === true;
  return policy.get(names[0])?.holds({ ...request, isAdmin, target: new Map() }) === true;
}
