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
export interface CompiledRule {
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
    number(field: string, origin: string): number {
      const key = `${field} ${origin}`;
      const found = numbers.get(key);
      if (found !== undefined) return found;
      numbers.set(key, table.length);
      table.push([field, origin]);
      return table.length - 1;
    },
    table: (): readonly (readonly [string, string])[] => table,
  };
}

function resolve(to: string, keys: TargetDoc["keys"]): string | null {
  let isMissing = false;
  const text = to.replaceAll(/\$(\w+)/g, (_, key: string) => {
    const name = keys[key];
    isMissing ||= name === null || name === undefined;
    return name ?? "";
  });
  return isMissing ? null : text;
}

function alternative(
  text: string,
  rule: Rule,
  number: (origin: string) => number,
  driver: string,
): Alternative {
  const [source = "", converter] = text.split("|");
  const dot = source.indexOf(".");
  const [input, field] = [source.slice(0, dot), source.slice(dot + 1)];
  return {
    input,
    field,
    // The parser checked that every converter exists.
    convert: convertersOf(converter, rule.as),
    origin: number(originName(input, field, driver)),
  };
}

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
    const to = resolve(rule.to, target.keys);
    if (to === null) return [];
    const [column = "", ...rest] = to.split(".");
    if (!columnNames.has(column)) return [];
    const from = rule.from === undefined ? [] : [rule.from].flat();
    const number = (origin: string): number => origins.number(to, origin);
    const constant = `constant: ${rule.why ?? "fixed"}`;
    return {
      path: [column, ...rest] as const,
      to,
      alternatives: from.map((text) => alternative(text, rule, number, driver)),
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

/** Origins of sources without their fields. */
const WITHOUT_FIELD: { readonly [input: string]: string } = {
  state: "rule state",
  target: "rule release",
  power: "measured over IPMI",
};

/** The prefix of the field in other origins. */
const BEFORE_FIELD: { readonly [input: string]: string } = {
  conf: "nova.conf [baremetal]",
  nova: "nova.instances.",
  image: "nova.instance_system_metadata.image_",
  boot: "TFTP tree ",
  site: "site document ",
};

/** The origin as text for people: `bm_nodes.memory_mb`, `rule driver/ipmi`. */
function originName(input: string, field: string, driver: string): string {
  if (input === "driver") return `rule driver/${driver}`;
  return WITHOUT_FIELD[input] ?? `${BEFORE_FIELD[input] ?? `${input}.`}${field}`;
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

/** A position in a column order, with the columns that followed it. */
interface Step {
  readonly column: number;
  readonly next: Step[];
  /** All columns of the order, NULL, created for the first row. */
  row?: Record<string, Json>;
}

/**
 * Makes rows from values by column number, in the order of the columns. A table has few orders, so rows are copied from a template. Objects that grow beyond a
 * dozen fields become hash tables, which are slower to create and to write as JSON.
 */
export function createShapes(columns: readonly string[]) {
  const first: Step = { column: -1, next: [] };
  return (
    values: readonly (Json | undefined)[],
    order: readonly number[],
  ): Record<string, Json> => {
    let step = first;
    for (const column of order) step = stepTo(step, column);
    step.row ??= emptyRow(order.map((column) => columns[column] ?? ""));
    const row = { ...step.row };
    for (const column of order) row[columns[column] ?? ""] = values[column] ?? null;
    return row;
  };
}

function stepTo({ next }: Step, column: number): Step {
  for (const step of next) if (step.column === column) return step;
  const made: Step = { column, next: [] };
  next.push(made);
  return made;
}

/** JSON.parse allocates all fields at once. */
function emptyRow(columns: readonly string[]): Record<string, Json> {
  return JSON.parse(`{${columns.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
}
