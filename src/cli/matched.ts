import type { Declared } from "./options/declared.ts";

/**
 * Looks at `--match` before a command begins. Loaded when it is given: views are not needed to start.
 *
 * @throws MigrationError N2I-E100
 */
export async function checkMatched({ command }: Declared, words: unknown): Promise<void> {
  if (!Array.isArray(words)) return;
  const { checkMatch } = await import("../report/columns.ts");
  checkMatch(command.split(" ")[0] ?? "", words);
}
