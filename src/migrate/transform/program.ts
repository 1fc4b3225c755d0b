import type { Column, DriverRow, Mapping, Rule } from "../../model/mapping.ts";
import { type CompiledRule, compileRules, type OriginTable } from "./compile.ts";
import { CHECKS } from "./convert.ts";

/** The rules of one driver in one release, and the source columns that they do not read. */
export type Program = ReturnType<typeof compileProgram>;

/** Read from the site document by code, because the driver is selected before rules run. */
const CHOOSES = ["driver", "power_manager", "credentials_charset", "driver_info", "properties"];

function settableBy(rules: readonly CompiledRule[]): ReadonlySet<string> {
  const read = rules.flatMap(({ alternatives }) =>
    alternatives.flatMap(({ input, field }) => (input === "site" ? [field] : [])),
  );
  return new Set([...CHOOSES, ...read]);
}

/**
 * Rules of the site document, and of the driver_info and properties in its entries. They come
 * first, so they take precedence. Values pass the same checks.
 */
function siteRules({ site }: Mapping, rules: readonly Rule[]): readonly Rule[] {
  const fields = site.machines.flatMap(({ set = {} }) =>
    ["driver_info", "properties"].flatMap((column) =>
      Object.keys(set[column] ?? {}).map((key) => `${column}.${key}`),
    ),
  );
  const set = [...new Set(fields)].map((to): Rule => ({ to, from: `site.${to}` }));
  return [...site.rules.node, ...set].map((rule) => {
    const as = rules.find(({ to }) => to === rule.to)?.as;
    return rule.as === undefined && as !== undefined && CHECKS.has(as) ? { ...rule, as } : rule;
  });
}

function readBy(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ from }) =>
    (from === undefined ? [] : [from].flat()).map((text) => text.split("|")[0] ?? ""),
  );
}

/** Compiles one driver's rules and finds unread columns. @param columns found columns by table */
export function compileProgram(
  mapping: Mapping,
  driver: DriverRow,
  columns: { readonly [table: string]: readonly string[] },
  origins: OriginTable,
) {
  const { rules, site, target } = mapping;
  const nodeRules = [...driver.rules, ...rules.node];
  const node = [...siteRules(mapping, nodeRules), ...nodeRules];
  const port = [...site.rules.port, ...rules.port];
  const read = new Set([...readBy([...node, ...port]), ...Object.keys(rules.reads)]);
  const dropped = new Set(
    [rules.drops, driver.drops, site.drops].flatMap((drops) => Object.keys(drops)),
  );
  const compile = (list: readonly Rule[], tableColumns: readonly Column[]) =>
    compileRules(list, tableColumns, target, driver.name, origins);
  const compiled = {
    node: compile(node, mapping.columns.node),
    port: compile(port, mapping.columns.port),
  };
  return {
    ...compiled,
    /** Fields of a site entry that this release supports. */
    settable: settableBy([...compiled.node, ...compiled.port]),
    /** Snapshot columns that no rule reads and no document drops: `bm_nodes.rack`. */
    unread: ["bm_nodes", "bm_interfaces"]
      .flatMap((table) => (columns[table] ?? []).map((column) => `${table}.${column}`))
      .filter((column) => !read.has(column) && !dropped.has(column)),
  };
}
