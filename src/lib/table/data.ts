import { createRequire } from "node:module";
import type { Json, JsonObject } from "../json.ts";
import type { Quote } from "./format.ts";
import { visible, visibleLines } from "./text.ts";

const require = createRequire(import.meta.url);

type Rows = AsyncIterable<readonly Json[]>;

/** A JSON array, one object a row; its bytes are those of Python's `json.dump(rows, indent=2)`. */
export async function* asJson(
  columns: readonly string[],
  rows: Rows,
  indent: boolean,
): AsyncIterable<string> {
  let before = indent ? "[\n" : "[";
  let any = false;
  for await (const row of rows) {
    yield before + jsonRow(objectOf(columns, row), indent);
    before = indent ? ",\n" : ", ";
    any = true;
  }
  if (!any) yield "[]\n";
  else yield indent ? "\n]\n" : "]\n";
}

export function jsonObject(object: JsonObject, indent: boolean): string {
  return `${indent ? asciiJson(object, 2) : pythonJson(object)}\n`;
}

function jsonRow(object: JsonObject, indent: boolean): string {
  return indent ? asciiJson(object, 2).replace(/^/gm, "  ") : pythonJson(object);
}

/** A YAML list of objects, readable by YAML 1.1 parsers too: `yes` as text is quoted. */
export async function* asYaml(columns: readonly string[], rows: Rows): AsyncIterable<string> {
  let any = false;
  for await (const row of rows) {
    yield yamlText([objectOf(columns, row)]);
    any = true;
  }
  if (!any) yield "[]\n";
}

export function yamlText(value: Json): string {
  // Loaded when it is asked for, as few runs do.
  const { stringify } = require("yaml") as typeof import("yaml");
  return stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

/** One line a row, values parted by blanks; line breaks inside a value are written out. */
export async function* asValues(rows: Rows): AsyncIterable<string> {
  for await (const row of rows) yield `${row.map((value) => visible(cellText(value))).join(" ")}\n`;
}

export function objectOf(columns: readonly string[], row: readonly Json[]): JsonObject {
  return Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]));
}

/**
 * A value as cliff's table, csv and value forms write it: None, True and False are Python's words,
 * which scripts around OpenStack expect. Lists and objects are JSON, as Python's form is no format.
 */
export function cellText(value: Json): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  return typeof value === "object" ? pythonJson(value) : String(value);
}

/** JSON on one line with the blanks and the ASCII escapes of Python's `json.dumps`. */
function pythonJson(value: Json): string {
  if (isList(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) => `${asciiJson(name)}: ${pythonJson(member)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return asciiJson(value);
}

/** `JSON.stringify` in ASCII only, so that no terminal and no locale can spoil it. */
function asciiJson(value: Json, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * Rows as Python's csv.writer writes them for cliff: a quote is doubled, a backslash is escaped
 * with another, None is empty. Characters stay as they are, but on a terminal, which they could repaint.
 *
 * @source openstack/cliff, cliff/formatters/commaseparated.py; CPython 3.11, Modules/_csv.c
 */
export async function* asCsv(
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]>,
  quote: Quote,
  terminal = false,
): AsyncIterable<string> {
  const shown = (line: string): string =>
    terminal ? `${visibleLines(line.slice(0, -1)).join("\n")}\n` : line;
  yield shown(csvLine(columns, quote));
  for await (const row of rows) yield shown(csvLine(row, quote));
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
