import { io } from "../io.ts";
import type { ExplainArgs } from "../options/explain.ts";
import { CODE_COLUMNS, codeRows, explain } from "../print/explain.ts";
import { printRows } from "../print/table.ts";
import { print } from "./shared.ts";

export async function explainCommand(args: ExplainArgs): Promise<void> {
  if (args.code === undefined) await printRows(io().stdout, CODE_COLUMNS, codeRows(), args);
  else print(explain(args.code));
}
