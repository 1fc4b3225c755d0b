import type { Json } from "../../model/json.ts";
import type { NovaStep } from "../../model/nova-plan.ts";
import type { NovaFiles } from "../../stages/nova-files.ts";

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

/** A plan's steps on Nova and what was found on the way, as `show` prints them. */
export async function* novaRows({
  steps,
  findings,
}: Pick<NovaFiles, "findings"> & { readonly steps: NovaFiles["all"] }): AsyncGenerator<
  readonly Json[]
> {
  for await (const batch of steps())
    for (const step of batch) {
      const change = step.before === null ? "create" : step.after === null ? "delete" : "update";
      yield [step.part, step.id, change, step.of, step.machine, changeOf(step)];
    }
  for await (const batch of findings())
    for (const { code, place, message, severity } of batch)
      yield [severity, place, code, message, null, null];
}
