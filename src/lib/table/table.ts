import { MigrationError } from "../error.ts";
import type { Json, JsonObject } from "../json.ts";
import { counted } from "../text.ts";
import { paintCell, paintLine } from "./colour.ts";
import {
  asCsv,
  asJson,
  asValues,
  asYaml,
  cellText,
  jsonObject,
  type Rows,
  yamlText,
} from "./data.ts";
import { type FormatOptions, type Screen, tableLimit } from "./format.ts";
import { asGrid } from "./grid.ts";
import { gatherGroups, groupLines, SCREENFUL } from "./groups.ts";
import { matching } from "./match.ts";

export interface View {
  readonly columns: readonly string[];
  readonly rows: Rows;
  /** Default columns of a table. All columns if absent. */
  readonly brief?: readonly string[];
  /** On a narrow screen. */
  readonly narrow?: readonly string[];
  /** Default columns of json, yaml, csv and value. All columns if absent. */
  readonly data?: readonly string[];
  /** Columns that together are a cause, by which a long table is grouped. */
  readonly causes?: readonly string[];
}

/** By title, a field of the thing or a function of it. */
export type Columns<T> = { readonly [title: string]: JsonField<T> | ((thing: T) => Json) };
type JsonField<T> = { [K in keyof T]-?: T[K] extends Json | undefined ? K : never }[keyof T];

/** How things are listed: a column for each title. */
export function viewer<T>(columns: Columns<T>, about: Omit<View, "columns" | "rows"> = {}) {
  const cells = Object.values(columns).map((cell) =>
    typeof cell === "function" ? cell : (thing: T) => (thing[cell] ?? null) as Json,
  );
  return (things: AsyncIterable<T> | Iterable<T>): View => {
    async function* rows() {
      for await (const thing of things) yield cells.map((cell) => cell(thing));
    }
    return { ...about, columns: Object.keys(columns), rows: rows() };
  };
}

/**
 * Streams the rows. A table measures the first 5,000 rows, and only sorting loads all of them.
 * @throws MigrationError N2I-E100 for an unknown column, before any row is read
 */
export function renderRows(
  view: View,
  options: FormatOptions,
  screen: Screen,
): AsyncIterable<string> {
  const { match = [], column = [], sortColumn = [] } = options;
  const matches = matched(view, match);
  const selected = column.length + sortColumn.length + match.length > 0 || options.allRows === true;
  if (options.format === "table" && view.causes !== undefined && !selected)
    return shortly({ ...view, rows: matches }, view.causes, options, screen);
  const usual = options.format === "table" ? briefOf(view, options, screen) : view.data;
  const { columns, rows } = select(view.columns, matches, {
    ...options,
    column: column.length === 0 ? (usual ?? column) : column,
  });
  switch (options.format) {
    case "table":
      return asTable(columns, rows, options, screen);
    case "json":
      return asJson(columns, rows, options.noindent !== true);
    case "yaml":
      return asYaml(columns, rows);
    case "csv":
      return asCsv(columns, rows, options.quote ?? "nonnumeric", screen.isTTY);
    case "value":
      return asValues(rows);
  }
}

function asTable(
  columns: readonly string[],
  rows: Rows,
  options: FormatOptions,
  screen: Screen,
): AsyncIterable<string> {
  return asGrid(columns, rows, {
    limit: tableLimit(options, screen),
    narrowest: 8,
    printEmpty: options.printEmpty ?? false,
    alignNumbers: true,
    ...(screen.colour === true && { paint: paintCell }),
  });
}

/** Minimum screen width for a readable table of machines with names, BMCs and instances. */
const WIDE = 160;

function briefOf(
  { brief, narrow }: View,
  options: FormatOptions,
  screen: Screen,
): readonly string[] | undefined {
  return (tableLimit(options, screen) ?? WIDE) < WIDE ? (narrow ?? brief) : brief;
}

/** Rows that match `--match`. @throws MigrationError N2I-E100, before any row is read */
function matched({ columns, rows }: View, match: readonly string[]): Rows {
  if (match.length === 0) return rows;
  const isMatch = matching(columns, match);
  async function* matches() {
    for await (const row of rows) if (isMatch(row)) yield row;
  }
  return matches();
}

/** Prints a short table completely, and a longer one grouped by cause, with the total last. */
async function* shortly(
  view: View,
  causes: readonly string[],
  options: FormatOptions,
  screen: Screen,
): AsyncIterable<string> {
  const { columns } = view;
  const brief = briefOf(view, options, screen) ?? columns;
  const first: (readonly Json[])[] = [];
  const gathered = gatherGroups();
  const [indexes, who] = [positions(columns, causes), exampleOf(columns)];
  let count = 0;
  for await (const row of view.rows) {
    count += 1;
    if (count <= SCREENFUL) first.push(row);
    const cells = (some: readonly number[]) => some.map((at) => cellText(row[at] ?? ""));
    gathered.add(
      cells(indexes)
        .filter((cell) => cell !== "")
        .join("  "),
      cells(who),
    );
  }
  if (count <= SCREENFUL)
    return yield* asTable(brief, pick(positions(columns, brief), first), options, screen);
  const lines = groupLines(gathered, tableLimit(options, screen));
  yield `${(screen.colour === true ? lines.map(paintLine) : lines).join("\n")}\n`;
  yield `${counted(count, "row")} by ${causes.join(", ")}. --match COLUMN=VALUE selects rows.\n`;
  if (options.every !== undefined) yield `All: ${options.every}\n`;
}

/** Columns that identify a machine. A list shows those that it has. */
const IDENTITY: readonly string[] = [
  ...["UUID", "Name", "BMC", "Address", "Service Host", "Host", "Instance"],
];

/** Columns of an example: those that identify a machine, or the first three. */
function exampleOf(columns: readonly string[]): readonly number[] {
  const identifying = IDENTITY.filter((title) => columns.includes(title));
  return identifying.length > 0
    ? positions(columns, identifying)
    : [0, 1, 2].filter((at) => at < columns.length);
}

/** As OpenStack's `show` commands print it. @throws MigrationError N2I-E100 for an unknown field */
export function renderObject(
  object: JsonObject,
  options: FormatOptions,
  screen: Screen,
): AsyncIterable<string> | Iterable<string> {
  const all = Object.keys(object);
  const selected = options.column ?? [];
  const names = selected.length === 0 ? all : positions(all, selected).map((at) => all[at] ?? "");
  const pairs = names.map((name) => [name, object[name] ?? null] as const);
  switch (options.format) {
    case "table":
      return asGrid(["Field", "Value"], pairs, {
        limit: tableLimit(options, screen),
        narrowest: 16,
        printEmpty: false,
        alignNumbers: false,
      });
    case "json":
      return [jsonObject(Object.fromEntries(pairs), options.noindent !== true)];
    case "yaml":
      return [yamlText(Object.fromEntries(pairs))];
    case "csv":
      return asCsv(["Field", "Value"], pairs, options.quote ?? "nonnumeric", screen.isTTY);
    case "value":
      return asValues(pairs.map(([, value]) => [value]));
  }
}

/** A sort column need not be shown. @throws MigrationError N2I-E100 for an unknown column */
function select(
  columns: readonly string[],
  rows: Rows,
  { column = [], sortColumn = [] }: FormatOptions,
): { readonly columns: readonly string[]; readonly rows: Rows } {
  const keys = positions(columns, sortColumn);
  const sorted = keys.length === 0 ? rows : sortedBy(keys, rows);
  if (column.length === 0) return { columns, rows: sorted };
  const chosen = positions(columns, column);
  return { columns: chosen.map((at) => columns[at] ?? ""), rows: pick(chosen, sorted) };
}

export function positions(
  columns: readonly string[],
  selected: readonly string[],
): readonly number[] {
  const found = [...new Set(selected)].map((name) => ({ name, at: columns.indexOf(name) }));
  const unknown = found.filter(({ at }) => at < 0).map(({ name }) => `'${name}'`);
  if (unknown.length > 0)
    throw new MigrationError("N2I-E100", `there is no column ${unknown.join(", ")}`, {
      fix: `Choose from these columns: ${columns.join(", ")}.`,
    });
  return found.map(({ at }) => at);
}

async function* pick(chosen: readonly number[], rows: Rows): AsyncIterable<readonly Json[]> {
  for await (const row of rows) yield chosen.map((at) => row[at] ?? null);
}

/** Loads every row, so its memory grows with their number. */
async function* sortedBy(keys: readonly number[], rows: Rows): AsyncIterable<readonly Json[]> {
  const buffered: (readonly Json[])[] = [];
  for await (const row of rows) buffered.push(row);
  buffered.sort((left, right) => {
    for (const key of keys) {
      const order = compare(left[key] ?? null, right[key] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  });
  yield* buffered;
}

/** Order as in cliff: numbers by value, then text by code unit, then null. */
function compare(left: Json, right: Json): number {
  if (rank(left) !== rank(right)) return rank(left) - rank(right);
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [one, other] = [sortText(left), sortText(right)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function rank(value: Json): number {
  if (value === null) return 3;
  return typeof value === "number" ? 0 : typeof value === "boolean" ? 1 : 2;
}

function sortText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
