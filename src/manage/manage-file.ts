import { MigrationError } from "../lib/error.ts";
import { isObject, type Json } from "../lib/json.ts";
import { listed } from "../lib/text.ts";
import type { ManageRequest } from "../model/ironic/manage.ts";
import { parseDocument, readDocument } from "../run/files/yaml-file.ts";

/** Maximum number of machines, to limit memory. */
const MOST = 100_000;
const MAX_FAULTS = 20;

/** Fields of a machine in YAML. A CSV file has them as columns, and also `metadata.KEY` columns. */
const MEMBERS = ["node", "name", "description", "availability_zone"] as const;
const METADATA = "metadata.";

/** @throws MigrationError N2I-E103 with every error and its line or position */
export function readMachines(file: string): readonly ManageRequest[] {
  const text = readDocument(file);
  const faults: string[] = [];
  const machines = /\.(ya?ml|json)$/i.test(file)
    ? fromYaml(parseDocument(text, file), faults)
    : fromCsv(text, faults);
  if (machines.length === 0 && faults.length === 0) faults.push("no machine is listed");
  if (machines.length > MOST) faults.push(`it lists more than ${MOST} machines`);
  if (faults.length > 0)
    throw new MigrationError("N2I-E103", `${file}: ${listed(faults, MAX_FAULTS, "; ")}`, {
      fix: `Write node,name on the first line of CSV, or a list of objects with ${MEMBERS.join(", ")} and metadata in YAML.`,
    });
  return machines;
}

function fromYaml(document: unknown, faults: string[]): readonly ManageRequest[] {
  if (!Array.isArray(document)) {
    faults.push("not a list of machines");
    return [];
  }
  return (document as readonly Json[]).map((one, at) => {
    const about = isObject(one) ? one : {};
    const location = `machine ${at + 1}`;
    if (!isObject(one)) faults.push(`${location} is not an object`);
    const members: readonly string[] = [...MEMBERS, "metadata"];
    for (const key of Object.keys(about))
      if (!members.includes(key)) faults.push(`${location}: unknown member ${JSON.stringify(key)}`);
    const textOf = (key: string): string => {
      const value = about[key] ?? "";
      if (typeof value === "string") return value;
      faults.push(`${location}: ${key} is not text`);
      return "";
    };
    const { metadata = {} } = about;
    if (!isObject(metadata)) faults.push(`${location}: metadata is not an object`);
    const pairs = Object.entries(isObject(metadata) ? metadata : {});
    for (const [key, value] of pairs)
      if (typeof value !== "string")
        faults.push(`${location}: metadata ${JSON.stringify(key)} is not text`);
    return machineOf(textOf, Object.fromEntries(pairs.map(([key, value]) => [key, String(value)])));
  });
}

function fromCsv(text: string, faults: string[]): readonly ManageRequest[] {
  const rows = csvRows(text, faults);
  const [header, ...lines] = rows;
  if (header === undefined) {
    if (faults.length === 0) faults.push("it is empty");
    return [];
  }
  const [only = ""] = header.cells;
  if (header.cells.length === 1 && /[;\t]/.test(only)) {
    faults.push(
      `its cells are separated by ${only.includes(";") ? "semicolons" : "tabs"}, not by commas`,
    );
    return [];
  }
  const columns = header.cells.map((cell) => cell.trim());
  const isColumn = (column: string): boolean =>
    (MEMBERS as readonly string[]).includes(column) || column.startsWith(METADATA);
  for (const column of ["node", "name"])
    if (!columns.includes(column)) faults.push(`its first line has no column ${column}`);
  for (const column of columns)
    if (!isColumn(column)) faults.push(`unknown column ${JSON.stringify(column)}`);
  if (new Set(columns).size < columns.length) faults.push("its first line has a duplicate column");
  if (faults.length > 0) return [];
  return lines.map(({ line, cells }) => {
    if (cells.length !== columns.length)
      faults.push(`line ${line} has ${cells.length} cells, and the first line ${columns.length}`);
    const of = new Map(columns.map((column, at) => [column, (cells[at] ?? "").trim()]));
    const metadata = [...of].flatMap(([column, value]) =>
      column.startsWith(METADATA) && value !== "" ? [[column.slice(METADATA.length), value]] : [],
    );
    return machineOf((column) => of.get(column) ?? "", Object.fromEntries(metadata));
  });
}

function machineOf(
  textOf: (member: string) => string,
  metadata: ManageRequest["metadata"],
): ManageRequest {
  return {
    ...{ node: textOf("node"), name: textOf("name"), metadata },
    description: textOf("description") || null,
    availability_zone: textOf("availability_zone") || null,
  };
}

/** CSV rows without empty lines. @source RFC 4180 */
function csvRows(text: string, faults: string[]) {
  const rows: { readonly line: number; readonly cells: readonly string[] }[] = [];
  let [line, began] = [1, 1];
  let cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  const content = text.replace(/^\ufeff/, "");
  while (cell.lastIndex < content.length) {
    const found = cell.exec(content);
    if (found === null) {
      faults.push(`line ${line} is not valid CSV: a quote is inside a cell, or is not closed`);
      return rows;
    }
    const [all, quoted, bare = "", end] = found;
    line += all.split("\n").length - 1;
    cells.push(quoted?.replaceAll('""', '"') ?? bare);
    if (end === ",") {
      if (cell.lastIndex === content.length) cells.push("");
      else continue;
    }
    if (cells.some((one) => one.trim() !== "")) rows.push({ line: began, cells });
    cells = [];
    began = line;
  }
  return rows;
}
