import type { JsonObject } from "../../model/json.ts";
import type { FormatOptions, Screen } from "../../report/format.ts";
import { renderObject, renderRows, type View } from "../../report/table.ts";
import { io } from "../io.ts";
import { writeAll } from "./out.ts";

/**
 * @param view null: there is nothing to print
 * @throws MigrationError N2I-E100 when a column of the options does not exist, before any row is read
 */
export async function printView(view: View | null, options: FormatOptions): Promise<void> {
  if (view !== null) await writeAll(io().stdout, renderRows(view, options, screen()));
}

/** @throws MigrationError N2I-E100 when a field of the options does not exist */
export async function printObject(object: JsonObject, options: FormatOptions): Promise<void> {
  await writeAll(io().stdout, renderObject(object, options, screen()));
}

function screen(): Screen {
  const { stdout, env } = io();
  return {
    env,
    ...(stdout.isTTY !== undefined && { isTTY: stdout.isTTY }),
    ...(stdout.columns !== undefined && { columns: stdout.columns }),
  };
}
