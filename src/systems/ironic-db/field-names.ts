import { isObject, parsedJson } from "../../lib/json.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { keyed } from "../database/read.ts";
import { askIn, columnList, text } from "../database/rows.ts";

const COLUMNS = ["instance_info", "driver_info", "driver_internal_info"];

/** Names of the JSON fields with a value, by node uuid. Values are not returned. */
export async function fieldNames(
  database: Database,
  { node }: Release,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const columns = COLUMNS.filter((column) => node.some(({ name }) => name === column));
  const from = await keyed(database, "nodes", "uuid");
  const sql = `SELECT ${columnList(database, ["uuid", ...columns])} FROM ${from} WHERE uuid IN (...)`;
  const rows = await askIn(database, "reading nodes", sql, uuids);
  return new Map(
    rows.map((row) => [
      text(row.uuid) ?? "",
      new Set(columns.flatMap((column) => fieldsOf(column, text(row[column])))),
    ]),
  );
}

function fieldsOf(column: string, json: string | null): readonly string[] {
  const value = parsedJson(json ?? "");
  if (!isObject(value)) return [];
  const names = Object.keys(value).filter((key) => value[key] !== null && value[key] !== "");
  // JSON text, or Juno's `name:value,name:value`.
  const local = /boot_option"?\s*:\s*"?local/.test(JSON.stringify(value.capabilities ?? ""));
  return [...names.map((key) => `${column}.${key}`), ...(local ? [LOCAL] : [])];
}

const LOCAL = "capabilities.boot_option=local";
