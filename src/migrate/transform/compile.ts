import type { Json } from "../../lib/json.ts";
import type { FindingCode } from "../../model/findings.ts";
import { type Column, extraFields, type Rule, type TargetDoc } from "../../model/mapping.ts";
import { CONVERTERS, type Converted, type Warning } from "./convert.ts";

/** The sources that rules read. Null if a source is missing. */
export type RuleSources = {
  readonly [input: string]: { readonly [field: string]: unknown } | null;
};

interface Alternative {
  readonly input: string;
  readonly field: string;
  readonly convert: readonly ((value: Json) => Converted)[];
  readonly origin: number;
}

/** A compiled rule: split path, parsed sources, numbered origins. */
interface CompiledRule {
  readonly path: readonly [string, ...string[]];
  readonly to: string;
  readonly alternatives: readonly Alternative[];
  /** The result if no alternative has a value. */
  readonly otherwise: Applied;
  readonly instanceOnly: boolean;
  readonly sparse: boolean;
  readonly missing: FindingCode | null;
}

/** Numbers the origins of fields, without duplicates. */
export type OriginTable = ReturnType<typeof createOrigins>;

export function createOrigins() {
  const numbers = new Map<string, number>();
  const table: (readonly [string, string])[] = [];
  return {
    table,
    number(field: string, origin: string): number {
      const key = `${field} ${origin}`;
      const number = numbers.get(key) ?? table.length;
      if (number === table.length) table.push([field, origin]);
      numbers.set(key, number);
      return number;
    },
  };
}

/** The parser checked that every converter exists. */
function convertersOf(...names: readonly (string | undefined)[]): Alternative["convert"] {
  return names.flatMap((name) => CONVERTERS[name ?? ""] ?? []);
}

/**
 * Compiles the rules of one table and release. Optional rules for missing columns are skipped.
 * Others are faults of the mapping document, which its validation reports.
 * @param driver name for the origin of values from the driver table
 */
export function compileRules(
  rules: readonly Rule[],
  columns: readonly Column[],
  target: TargetDoc,
  driver: string,
  origins: OriginTable,
): readonly CompiledRule[] {
  const columnNames = new Set([...columns.map(({ name }) => name), ...extraFields(target)]);
  const conditions: { readonly [when in NonNullable<Rule["missing_when"]>]: boolean } = {
    takeover: target.takeover !== "none",
    "deploy-images": target.takeover === "deploy-images",
    netboot: target.boot === "netboot" || target.boot === "edit",
  };
  const needed = ({ missing_when }: Rule): boolean =>
    missing_when === undefined || conditions[missing_when];
  return rules.flatMap((rule) => {
    const isMissing = [...rule.to.matchAll(/\$(\w+)/g)].some(([, key = ""]) => !target.keys[key]);
    const to = rule.to.replaceAll(/\$(\w+)/g, (_, key: string) => target.keys[key] ?? "");
    const [column = "", ...rest] = to.split(".");
    if (isMissing || !columnNames.has(column)) return [];
    const from = rule.from === undefined ? [] : [rule.from].flat();
    const number = (origin: string): number => origins.number(to, origin);
    const constant = `constant: ${rule.why ?? "fixed"}`;
    return {
      path: [column, ...rest] as const,
      to,
      alternatives: from.map((text): Alternative => {
        const [source = "", converter] = text.split("|");
        const dot = source.indexOf(".");
        const [input, field] = [source.slice(0, dot), source.slice(dot + 1)];
        const origin = number(originName(input, field, driver));
        return { input, field, convert: convertersOf(converter, rule.as), origin };
      }),
      otherwise:
        rule.value === undefined
          ? null
          : converted(rule.value, convertersOf(rule.as), number(constant), "value"),
      instanceOnly: rule.when === "instance",
      sparse: rule.sparse === true,
      missing: rule.missing !== undefined && needed(rule) ? rule.missing : null,
    };
  });
}

/** The origin as text for people: `bm_nodes.memory_mb`, `rule driver/ipmi`. */
function originName(input: string, field: string, driver: string): string {
  const origins: { readonly [input: string]: string } = {
    state: "rule state",
    target: "rule release",
    power: "measured over IPMI",
    driver: `rule driver/${driver}`,
    conf: `nova.conf [baremetal]${field}`,
    nova: `nova.instances.${field}`,
    image: `nova.instance_system_metadata.image_${field}`,
    boot: `TFTP tree ${field}`,
    site: `site document ${field}`,
  };
  return origins[input] ?? `${input}.${field}`;
}

/** The result of a rule. Null: none. */
type Applied =
  | { readonly value: Json; readonly origin: number; readonly warnings?: readonly Warning[] }
  | { readonly fault: string; readonly source: string }
  | null;

export function applyRule(
  { alternatives, otherwise }: CompiledRule,
  sources: RuleSources,
): Applied {
  for (const alternative of alternatives) {
    const applied = applyOne(alternative, sources);
    if (applied !== null) return applied;
  }
  return otherwise;
}

/** Rules with the results of fixed sources, which many machines share. */
export type SettledRules = ReturnType<typeof settleRules>;

/**
 * Evaluates rules with fixed sources. Most rules read only those, so all such machines share the
 * result.
 * @param keeps the machines keep their instances
 */
export function settleRules(rules: readonly CompiledRule[], fixed: RuleSources, keeps: boolean) {
  const going = rules
    .filter(({ instanceOnly }) => keeps || !instanceOnly)
    .map((rule) => settled(rule, fixed))
    .filter(
      ({ alternatives, otherwise, missing }) =>
        alternatives.length > 0 || otherwise !== null || missing !== null,
    );
  const plain = rules.filter(({ path, sparse }) => path.length === 1 && !sparse);
  const columns = [...new Set([...going, ...plain].map(({ path }) => path[0]))];
  const numbered = going.map((rule) => ({
    ...rule,
    column: columns.indexOf(rule.path[0]),
    /** Path below the column. Empty if the rule sets the whole column. */
    inner: rule.path.slice(1),
    /** Another rule adds to this rule's object. */
    grows: going.some(({ to }) => to.startsWith(`${rule.to}.`)),
  }));
  return {
    columns,
    rules: numbered,
    /** Columns that are NULL without a rule's value. */
    plain: plain.map(({ path }) => columns.indexOf(path[0])),
    shapes: createShapes(columns),
  };
}

function settled(rule: CompiledRule, fixed: RuleSources): CompiledRule {
  const alternatives: Alternative[] = [];
  for (const alternative of rule.alternatives) {
    const isFixed = alternative.input in fixed;
    const applied = isFixed ? applyOne(alternative, fixed) : null;
    if (applied !== null) return { ...rule, alternatives, otherwise: applied };
    if (!isFixed) alternatives.push(alternative);
  }
  return { ...rule, alternatives };
}

function applyOne({ input, field, convert, origin }: Alternative, sources: RuleSources): Applied {
  // Sources contain only parsed JSON values.
  const value = (sources[input]?.[field] ?? null) as Json;
  return value === null ? null : converted(value, convert, origin, `${input}.${field}`);
}

function converted(
  raw: Json,
  convert: Alternative["convert"],
  origin: number,
  source: string,
): Applied {
  let value = raw;
  let warnings: readonly Warning[] | undefined;
  for (const made of convert) {
    const result = made(value);
    if (result === null) return null;
    if ("fault" in result) return { fault: result.fault, source };
    value = result.value;
    warnings ??= result.warnings;
  }
  return warnings === undefined ? { value, origin } : { value, origin, warnings };
}

/**
 * Makes rows from values by column number, in the order of the columns. A table has few orders, so
 * rows are copied from a template. Objects that grow beyond a dozen fields become hash tables, which
 * are slower to create and to write as JSON. JSON.parse allocates all fields at once.
 */
export function createShapes(columns: readonly string[]) {
  const templates: { readonly order: readonly number[]; readonly empty: Record<string, Json> }[] =
    [];
  return (
    values: readonly (Json | undefined)[],
    order: readonly number[],
  ): Record<string, Json> => {
    let template = templates.find((one) => isSameOrder(one.order, order));
    if (template === undefined) {
      const names = order.map((column) => `${JSON.stringify(columns[column])}:null`);
      template = { order, empty: JSON.parse(`{${names.join()}}`) };
      templates.push(template);
    }
    const row = { ...template.empty };
    for (const column of order) row[columns[column] ?? ""] = values[column] ?? null;
    return row;
  };
}

function isSameOrder(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
