import { isObject, type JsonObject } from "../../src/lib/json.ts";
import type { Column } from "../../src/model/mapping.ts";
import { isJsonColumn } from "../../src/systems/ironic-db/codec.ts";

type Cell = string | number | null;

/** One change of one field of one row, and what it is called. */
export interface Mutation {
  readonly column: string;
  /** `driver_info.ipmi_address`, `power_state`. */
  readonly field: string;
  readonly to: Cell;
  readonly kind: "changed" | "removed" | "added" | "broken";
}

/** Every change of one field: each column, each key of a JSON column, and the key of a key. */
export function mutationsOf(
  row: { readonly [column: string]: unknown },
  columns: readonly Column[],
): readonly Mutation[] {
  return columns.flatMap((column) => {
    const { name } = column;
    const was = row[name] ?? null;
    if (isJsonColumn(name)) return ofJson(name, was === null ? null : String(was));
    const change = (to: Cell): Mutation => ({ column: name, field: name, to, kind: "changed" });
    const changed = change(other(column, was));
    return was === null || !column.null
      ? [changed]
      : [changed, { ...change(null), kind: "removed" as const }];
  });
}

function other({ type }: Column, was: unknown): Cell {
  switch (type) {
    case "boolean":
      return Number(was) === 1 ? 0 : 1;
    case "datetime":
      return "2001-01-01 00:00:00";
    case "integer":
    case "bigint":
    case "float":
      return 7;
    default:
      return was === "zz" ? "yy" : "zz";
  }
}

function ofJson(column: string, text: string | null): readonly Mutation[] {
  const root: unknown = text === null ? {} : JSON.parse(text);
  if (!isObject(root)) throw new Error(`${column} holds no object`);
  const set = (field: string, kind: Mutation["kind"], to: JsonObject): Mutation => ({
    ...{ column, kind, field: `${column}.${field}` },
    to: JSON.stringify(to),
  });
  return [
    { column, field: column, to: "{not JSON", kind: "broken" },
    // A column no rule fills is NULL; what comes into it is told by the column's name.
    {
      ...set("stranger", "added", { ...root, stranger: 1 }),
      ...(text === null && { field: column }),
    },
    ...Object.entries(root).flatMap(([key, value]) => {
      const { [key]: _, ...rest } = root;
      const inner = isObject(value) ? value : {};
      return [
        set(key, "changed", { ...root, [key]: "zz" }),
        // The number 8 is not the text "8".
        ...(typeof value === "number"
          ? [set(key, "changed" as const, { ...root, [key]: String(value) })]
          : []),
        set(key, "removed", rest),
        ...Object.keys(inner).map((below) =>
          set(key, "changed", { ...root, [key]: { ...inner, [below]: "zz" } }),
        ),
      ];
    }),
  ];
}
