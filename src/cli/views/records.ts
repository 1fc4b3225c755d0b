import type { Json, JsonObject } from "../../lib/json.ts";
import { viewer } from "../../lib/table/table.ts";
import type { readWindow } from "../../run/files/window-file.ts";

/** An entry as read. Its fields depend on its type. */
type Line = { readonly [field: string]: Json | undefined };

/** Fields with their own column, and internal ones. */
const KEYS = ["do", "at", "by", "part", "plan", "from", "to", "id", "prev", "tool", "format"];

export const journalView = viewer<Line>(
  {
    At: "at",
    What: "do",
    Part: ({ part, system }) => part ?? system ?? null,
    Of: ({ id, from, to, table, name }) =>
      id ?? table ?? name ?? (from === undefined ? null : `${from} to ${to}`),
    Plan: ({ plan }) => (typeof plan === "string" ? plan.slice(0, 12) : null),
    By: ({ by, tool }) => by ?? tool ?? null,
    Details: detailsOf,
  },
  { causes: ["What", "Part"] },
);

/** `created 4, found 0`: values and lengths of lists. Observed rows are only in the file. */
function detailsOf(line: Line): string {
  const fields = Object.entries(line).filter(([name]) => !KEYS.includes(name));
  const texts = fields.flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name} ${value.length}`];
    return typeof value === "object" || value === undefined ? [] : [`${name} ${value}`];
  });
  return texts.join(", ");
}

export const logView = viewer<JsonObject>(
  { At: "ts", What: "type", PID: "pid", Text: textOf },
  { causes: ["What"] },
);

function textOf({ type, command, text, code, message, status, name }: JsonObject): string {
  if (type === "begin") return String(command);
  if (type === "refused") return `${code} ${message}`;
  return type === "end" ? `exit ${status} ${name}` : String(text ?? "");
}

export const windowView = viewer<Awaited<ReturnType<typeof readWindow>>[number]>({
  ...{ At: "at", By: "by", What: "do", Stage: "stage", Result: "result" },
  "Outside a window": "outside",
});
