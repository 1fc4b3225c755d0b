import { createRequire } from "node:module";
import type { Json, JsonObject } from "../json.ts";
import type { Quote } from "./format.ts";
import { visible, visibleLines } from "./text.ts";

const require = createRequire(import.meta.url);

export type Rows = AsyncIterable<readonly Json[]> | Iterable<readonly Json[]>;

/** A JSON array with one object per row, in the bytes of Python's `json.dump(rows, indent=2)`. */
export async function* asJson(
  columns: readonly string[],
  rows: Rows,
  indent: boolean,
): AsyncIterable<string> {
  let before = indent ? "[\n" : "[";
  let any = false;
  for await (const row of rows) {
    const object = objectOf(columns, row);
    yield before + (indent ? asciiJson(object, 2).replace(/^/gm, "  ") : pythonJson(object));
    before = indent ? ",\n" : ", ";
    any = true;
  }
  if (!any) yield "[]\n";
  else yield indent ? "\n]\n" : "]\n";
}

export function jsonObject(object: JsonObject, indent: boolean): string {
  return `${indent ? asciiJson(object, 2) : pythonJson(object)}\n`;
}

/** A YAML list of objects. YAML 1.1 parsers can also read it: the text `yes` is quoted. */
export async function* asYaml(columns: readonly string[], rows: Rows): AsyncIterable<string> {
  let any = false;
  for await (const row of rows) {
    yield yamlText([objectOf(columns, row)]);
    any = true;
  }
  if (!any) yield "[]\n";
}

export function yamlText(value: Json): string {
  // Loaded on demand, because few runs print YAML.
  const { stringify } = require("yaml") as typeof import("yaml");
  return stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

/** One line per row, values separated by blanks. Line breaks in a value are escaped. */
export async function* asValues(rows: Rows): AsyncIterable<string> {
  for await (const row of rows) yield `${row.map((value) => visible(cellText(value))).join(" ")}\n`;
}

function objectOf(columns: readonly string[], row: readonly Json[]): JsonObject {
  return Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]));
}

/**
 * A value as cliff's table, csv and value formats print it. None, True and False are Python's
 * words, which scripts around OpenStack expect. Lists and objects are JSON, because Python's form
 * is not parseable.
 */
export function cellText(value: Json): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  return typeof value === "object" ? pythonJson(value) : String(value);
}

/** One line of JSON with the blanks and ASCII escapes of Python's `json.dumps`. */
function pythonJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) => `${asciiJson(name)}: ${pythonJson(member)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return asciiJson(value);
}

/** `JSON.stringify` in ASCII only, which every terminal and locale can show. */
function asciiJson(value: Json, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Rows as Python's csv.writer writes them for cliff: quotes and backslashes are doubled, None is
 * empty. On a terminal, control characters are escaped.
 * @source openstack/cliff, cliff/formatters/commaseparated.py; CPython 3.11, Modules/_csv.c
 */
export async function* asCsv(
  columns: readonly string[],
  rows: Rows,
  quote: Quote,
  terminal = false,
): AsyncIterable<string> {
  const printable = (line: string): string =>
    terminal ? `${visibleLines(line.slice(0, -1)).join("\n")}\n` : line;
  yield printable(csvLine(columns, quote));
  for await (const row of rows) yield printable(csvLine(row, quote));
}

function csvLine(row: readonly Json[], quote: Quote): string {
  const alone = row.length === 1;
  return `${row.map((value) => field(value, quote, alone)).join(",")}\n`;
}

function field(value: Json, quote: Quote, alone: boolean): string {
  const text = value === null ? "" : cellText(value);
  if (quote === "none") return text.replace(/[",\\\r\n]/g, "\\$&");
  const quoted =
    quote === "all" ||
    (quote === "nonnumeric" && typeof value !== "number" && typeof value !== "boolean") ||
    /[",\r\n]/.test(text) ||
    (alone && text === "");
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '""');
  return quoted ? `"${escaped}"` : escaped;
}
