import { Writable } from "node:stream";
import { formatOptions } from "../../../src/cli/options/shared.ts";
import { writeAll } from "../../../src/cli/print/out.ts";
import type { Json } from "../../../src/lib/json.ts";
import type { FormatOptions, Screen } from "../../../src/lib/table/format.ts";
import { renderObject, renderRows } from "../../../src/lib/table/table.ts";

/** A stream that keeps what is written; with columns it calls itself a terminal. */
export function collector(columns?: number) {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  const out: Writable & { isTTY?: boolean; columns?: number } =
    columns === undefined ? stream : Object.assign(stream, { isTTY: true, columns });
  return { out, text: () => chunks.join("") };
}

type Collected = ReturnType<typeof collector>;

export async function printRows(
  out: Collected["out"],
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]> | Iterable<readonly Json[]>,
  options: FormatOptions,
  env: Screen["env"] = {},
): Promise<void> {
  await writeAll(out, renderRows({ columns, rows }, options, { ...screenOf(out), env }));
}

function screenOf({ isTTY, columns }: Collected["out"]): Screen {
  const own = { ...(isTTY !== undefined && { isTTY }), ...(columns !== undefined && { columns }) };
  return { env: {}, ...own };
}

export type Inputs = Omit<FormatOptions, "format">;

export async function printed(
  format: FormatOptions["format"],
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]> | Iterable<readonly Json[]>,
  given: Inputs = {},
): Promise<string> {
  const { out, text } = collector();
  const options = { quote: formatOptions.quote.default, ...given, format };
  await printRows(out, columns, rows, options);
  return text();
}

export async function shown(
  format: FormatOptions["format"],
  object: { readonly [name: string]: Json },
  given: Inputs = {},
): Promise<string> {
  const { out, text } = collector();
  await writeAll(out, renderObject(object, { ...given, format }, screenOf(out)));
  return text();
}
