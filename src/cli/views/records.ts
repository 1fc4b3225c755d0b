import type { Json, JsonObject } from "../../lib/json.ts";
import { type Columns, rowsOf, type View } from "../../lib/table/table.ts";
import type { Entries } from "../../model/journal.ts";
import type { readWindow } from "../../run/files/window-file.ts";

/** An entry as read. Its fields depend on its type. */
type Line = { readonly [field: string]: Json | undefined };

/** Fields with their own column, and internal ones. */
const KEYS = ["do", "at", "by", "part", "plan", "from", "to", "id", "prev", "tool", "format"];

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
  const cells = Object.values(ENTRY);
  const view = rowsOf(Object.keys(ENTRY), entries, (entry) => {
    // The fields of an entry depend on its type.
    const line: Line = Object.fromEntries(Object.entries(entry));
    return cells.map((cell) => cell(line));
  });
  return { ...view, causes: ["What", "Part"] };
}

/** `created 4, found 0`: values and lengths of lists. Observed rows are only in the file. */
function detailsOf(line: Line): string {
  const fields = Object.entries(line).filter(([name]) => !KEYS.includes(name));
  const texts = fields.flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name} ${value.length}`];
    return typeof value === "object" || value === undefined ? [] : [`${name} ${value}`];
  });
  return texts.join(", ");
}

export function logView(facts: AsyncIterable<JsonObject> | Iterable<JsonObject>): View {
  const columns = ["At", "What", "PID", "Text"];
  const view = rowsOf(columns, facts, (fact) => [
    ...[fact.ts ?? null, fact.type ?? null, fact.pid ?? null, textOf(fact)],
  ]);
  return { ...view, causes: ["What"] };
}

function textOf({ type, command, text, code, message, status, name }: JsonObject): string {
  if (type === "begin") return String(command);
  if (type === "refused") return `${code} ${message}`;
  return type === "end" ? `exit ${status} ${name}` : String(text ?? "");
}

export function windowView(lines: Awaited<ReturnType<typeof readWindow>>): View {
  const columns = ["At", "By", "What", "Stage", "Result", "Outside a window"];
  return rowsOf(columns, lines, (it) => [
    ...[it.at, it.by, it.do, it.stage ?? null, it.result ?? null, it.outside ?? null],
  ]);
}
