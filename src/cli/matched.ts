import type { Declared } from "./options/declared.ts";

/** Words that name columns. */
const NAMING = ["match", "column", "sortColumn"] as const;

/**
 * Looks at the columns a command line names before its command begins. Loaded when it names some: views are
 * not needed to start.
 *
 * @throws MigrationError N2I-E100
 */
export async function checkMatched(
  { command }: Declared,
  args: { readonly [option: string]: unknown },
): Promise<void> {
  if (!NAMING.some((name) => Array.isArray(args[name]))) return;
  const { checkColumns } = await import("./views/columns.ts");
  checkColumns(command.split(" ")[0] ?? "", args);
}
