import { Writable } from "node:stream";
import { type FormatOptions, formatOptions } from "../../../src/cli/print/options.ts";
import { printObject, printRows } from "../../../src/cli/print/table.ts";
import type { Json } from "../../../src/model/json.ts";

export interface Collected {
  readonly out: Writable & { isTTY?: boolean; columns?: number };
  readonly text: () => string;
}

/** A stream that keeps what is written; with columns it calls itself a terminal. */
export function collector(columns?: number): Collected {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  const out = columns === undefined ? stream : Object.assign(stream, { isTTY: true, columns });
  return { out, text: () => chunks.join("") };
}

export type Given = Omit<FormatOptions, "format">;

export async function printed(
  format: FormatOptions["format"],
  columns: readonly string[],
  rows: AsyncIterable<readonly Json[]> | Iterable<readonly Json[]>,
  given: Given = {},
): Promise<string> {
  const { out, text } = collector();
  await printRows(out, columns, rows, { quote: formatOptions.quote.default, ...given, format }, {});
  return text();
}

export async function shown(
  format: FormatOptions["format"],
  object: { readonly [name: string]: Json },
  given: Given = {},
): Promise<string> {
  const { out, text } = collector();
  await printObject(out, object, { ...given, format }, {});
  return text();
}
