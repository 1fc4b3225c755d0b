import { CODE_COLUMNS, codeRows, explain } from "../../report/explain.ts";
import type { ExplainArgs } from "../options/explain.ts";
import { printView } from "../print/out.ts";
import { print } from "./shared.ts";

export async function explainCommand({ code = [], ...args }: ExplainArgs): Promise<void> {
  if (code.length === 0) await printView({ columns: CODE_COLUMNS, rows: codeRows() }, args);
  else print(code.map(explain).join("\n"));
}
