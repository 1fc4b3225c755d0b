import type { FormatOptions } from "./options.ts";
import { printRows } from "./table.ts";

/** Lists rows a rollback left in place, with why; nothing where there are none. */
export async function printLeft(
  left: readonly { readonly id: string; readonly why: string }[],
  options: FormatOptions,
): Promise<void> {
  if (left.length === 0) return;
  const rows = left.map(({ id, why }) => [id, why]);
  await printRows(process.stdout, ["Row", "Why it is left"], rows, options);
}
