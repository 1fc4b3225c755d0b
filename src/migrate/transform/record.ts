import { isObject, type Json } from "../../lib/json.ts";
import { type Finding, finding } from "../../model/findings.ts";
import type { Resource } from "../../model/plan.ts";
import { applyRule, type RuleSources, type SettledRules } from "./compile.ts";

export type Made = ReturnType<typeof makeRecord>;

/** A record in progress: values by column number, and the order of the columns. */
interface Making {
  readonly values: (Json | undefined)[];
  readonly order: number[];
}

/**
 * Applies the rules to one machine or interface. The first value of a field is kept. Plain columns
 * without a value are NULL, so that verify detects later changes.
 * @param source shown with findings: `bm_nodes.id=9`
 */
export function makeRecord(
  resource: Resource,
  { rules, plain, columns, shapes }: SettledRules,
  sources: RuleSources,
  source: string,
) {
  const values = new Array<Json | undefined>(columns.length).fill(undefined);
  const making: Making = { values, order: [] };
  const origins: number[] = [];
  let findings = NONE;
  for (const rule of rules) {
    const applied = applyRule(rule, sources);
    if (applied === null) {
      if (rule.missing !== null && !isSet(values[rule.column], rule.inner))
        findings = [...findings, finding(rule.missing, source, `no value for ${rule.to}`)];
    } else if ("fault" in applied) {
      if (!isSet(values[rule.column], rule.inner))
        findings = [...findings, finding("N2I-D303", `${source} ${applied.source}`, applied.fault)];
    } else {
      // An empty text with warnings means that no part of the value is valid, so the field is
      // omitted.
      const isUsable = applied.value !== "" || applied.warnings === undefined;
      if (isUsable ? !put(making, rule, applied.value) : isSet(values[rule.column], rule.inner))
        continue;
      if (isUsable) origins.push(applied.origin);
      for (const [code, text] of applied.warnings ?? [])
        findings = [...findings, finding(code, `${source} ${rule.to}`, text)];
    }
  }
  for (const column of plain) if (values[column] === undefined) begin(making, column, null);
  const row = shapes(values, making.order);
  // A set, sorted in the order in which it is read.
  const { traits } = row;
  if (Array.isArray(traits)) row.traits = [...(traits as readonly Json[])].toSorted();
  return { record: { resource, id: `${resource}:${String(row.uuid)}`, row, origins }, findings };
}

const NONE: readonly Finding[] = [];

function begin({ values, order }: Making, column: number, value: Json): void {
  if (values[column] === undefined) order.push(column);
  values[column] = value;
}

/** Sets a value at a rule's path, unless it already has one. */
function put(
  making: Making,
  { column, inner, grows }: SettledRules["rules"][number],
  value: Json,
): boolean {
  const copy = grows && isObject(value) ? { ...value } : value;
  const last = inner.at(-1);
  const existing = making.values[column];
  if (last === undefined) {
    if (existing !== undefined) return false;
    begin(making, column, copy);
    return true;
  }
  let at: Record<string, Json>;
  if (existing !== undefined && isObject(existing)) at = existing as Record<string, Json>;
  else {
    at = {};
    begin(making, column, at);
  }
  for (let depth = 0; depth < inner.length - 1; depth++) {
    const key = inner[depth] ?? "";
    const next = at[key];
    if (next !== undefined && isObject(next)) {
      // These objects were created by this function, so they are mutable.
      at = next as Record<string, Json>;
    } else {
      const made: Record<string, Json> = {};
      at[key] = made;
      at = made;
    }
  }
  if (at[last] !== undefined) return false;
  at[last] = copy;
  return true;
}

function isSet(value: Json | undefined, path: readonly string[]): boolean {
  let at: unknown = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return false;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at !== undefined && at !== null;
}
