import type { Json, JsonObject } from "../../model/json.ts";
import type { Environment } from "../../stages/surroundings.ts";
import { io, type Output } from "../io.ts";
import { asCsv } from "./csv.ts";
import { asJson, asValues, asYaml, jsonObject, objectOf, yamlText } from "./data.ts";
import { asGrid } from "./grid.ts";
import { type FormatOptions, tableLimit } from "./options.ts";
import { writeAll } from "./out.ts";
import { positions, select } from "./select.ts";

/**
 * Prints rows as they come; only a table looks at the first 5,000 before it begins, and only
 * sorting holds them all.
 *
 * @throws MigrationError N2I-E100 when a column of the options does not exist, before any row is read
 */
export async function printRows(
  out: Output,
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]> | Iterable<readonly Json[]>,
  options: FormatOptions,
  env: Environment = io().env,
): Promise<void> {
  const chosen = select(columns, each(rows), options);
  await writeAll(
    out,
    rendered(chosen.columns, chosen.rows, options, tableLimit(options, out, env), out.isTTY),
  );
}

/**
 * Prints one object as OpenStack's `show` commands do: a table of Field and Value.
 *
 * @throws MigrationError N2I-E100 when a field of the options does not exist
 */
export async function printObject(
  out: Output,
  object: JsonObject,
  options: FormatOptions,
  env: Environment = io().env,
): Promise<void> {
  const names = Object.keys(object);
  const wanted = options.column ?? [];
  const chosen =
    wanted.length === 0 ? names : positions(names, wanted).map((at) => names[at] ?? "");
  const values = chosen.map((name) => object[name] ?? null);
  const limit = tableLimit(options, out, env);
  await writeAll(out, renderedObject(chosen, values, options, limit, out.isTTY));
}

function rendered(
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]>,
  options: FormatOptions,
  limit: number | undefined,
  terminal: boolean | undefined,
): AsyncIterable<string> {
  switch (options.format) {
    case "table":
      return asGrid(columns, rows, {
        limit,
        narrowest: 8,
        printEmpty: options.printEmpty ?? false,
        alignNumbers: true,
      });
    case "json":
      return asJson(columns, rows, options.noindent !== true);
    case "yaml":
      return asYaml(columns, rows);
    case "csv":
      return asCsv(columns, rows, options.quote ?? "nonnumeric", terminal);
    case "value":
      return asValues(rows);
  }
}

function renderedObject(
  names: readonly string[],
  values: readonly Json[],
  options: FormatOptions,
  limit: number | undefined,
  terminal: boolean | undefined,
): AsyncIterable<string> | Iterable<string> {
  const pairs = each(names.map((name, at) => [name, values[at] ?? null]));
  switch (options.format) {
    case "table":
      return asGrid(["Field", "Value"], pairs, {
        limit,
        narrowest: 16,
        printEmpty: false,
        alignNumbers: false,
      });
    case "json":
      return [jsonObject(objectOf(names, values), options.noindent !== true)];
    case "yaml":
      return [yamlText(objectOf(names, values))];
    case "csv":
      return asCsv(["Field", "Value"], pairs, options.quote ?? "nonnumeric", terminal);
    case "value":
      return asValues(each(values.map((value) => [value])));
  }
}

async function* each<T>(items: AsyncIterable<T> | Iterable<T>): AsyncIterable<T> {
  yield* items;
}
