import type { Json } from "../../model/json.ts";
import type { NovaLine, NovaStep } from "../../model/nova-plan.ts";

/** Columns of a step that change: `host: "h1" -> "h2"`. */
function changeOf({ before, after }: NovaStep): string {
  const row = after ?? before ?? {};
  return Object.keys(row)
    .filter((column) => before === null || after === null || before[column] !== after[column])
    .map((column) => {
      const side = (of: typeof before) => JSON.stringify(of?.[column] ?? null);
      if (before === null) return `${column}: ${side(after)}`;
      return `${column}: ${side(before)} -> ${side(after)}`;
    })
    .join(", ");
}

export const NOVA_COLUMNS = ["Part", "Row", "Change", "Of", "Machine", "Fields"];

/** The lines of a plan for Nova, as `show` prints them. */
export async function* novaRows(
  lines: AsyncIterable<readonly NovaLine[]>,
): AsyncGenerator<readonly Json[]> {
  for await (const batch of lines)
    for (const line of batch)
      if ("finding" in line) {
        const { code, place, message, severity } = line.finding;
        yield [severity, place, code, message, null, null];
      } else {
        const change = line.before === null ? "create" : line.after === null ? "delete" : "update";
        yield [line.part, line.id, change, line.of, line.machine, changeOf(line)];
      }
}
