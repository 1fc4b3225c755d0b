import type { Json, JsonObject } from "../../lib/json.ts";
import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import type { Entries, Entry } from "../../model/journal.ts";

/** An entry as read. Its fields depend on its type. */
type Line = { readonly [field: string]: Json | undefined };

/** Fields with their own column, and internal ones. */
const NAMED = ["do", "at", "by", "part", "plan", "from", "to", "id", "prev", "tool", "format"];

const ENTRY: Columns<Line> = {
  At: ({ at = null }) => at,
  What: (line) => line.do ?? null,
  Part: ({ part, system }) => part ?? system ?? null,
  Of: ({ id, from, to, table, name }) =>
    id ?? table ?? name ?? (from === undefined ? null : `${from} to ${to}`),
  Plan: ({ plan }) => (typeof plan === "string" ? plan.slice(0, 12) : null),
  By: ({ by, tool }) => by ?? tool ?? null,
  Details: detailsOf,
};

export function journalView(entries: Entries): View {
  return { ...viewOf<Line>(ENTRY, linesOf(entries)), causes: ["What", "Part"] };
}

/** A generator, because the journal of a large fleet is long. */
function* linesOf(entries: Entries): Generator<Line> {
  for (const entry of entries) yield lineOf(entry);
}

function lineOf(entry: Entry): Line {
  return Object.fromEntries(Object.entries(entry));
}

/** `created 4, found 0`: values and lengths of lists. Observed rows are only in the file. */
function detailsOf(line: Line): string {
  const fields = Object.entries(line).filter(([name]) => !NAMED.includes(name));
  const shown = fields.flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name} ${value.length}`];
    return typeof value === "object" || value === undefined ? [] : [`${name} ${value}`];
  });
  return shown.join(", ");
}

const FACT: Columns<JsonObject> = {
  At: ({ ts = null }) => ts,
  What: ({ type = null }) => type,
  PID: ({ pid = null }) => pid,
  Text: textOf,
};

export function logView(facts: AsyncIterable<JsonObject> | Iterable<JsonObject>): View {
  return { ...viewOf(FACT, facts), causes: ["What"] };
}

function textOf({ type, command, text, code, message, status, name }: JsonObject): string {
  if (type === "begin") return String(command);
  if (type === "refused") return `${code} ${message}`;
  return type === "end" ? `exit ${status} ${name}` : String(text ?? "");
}
