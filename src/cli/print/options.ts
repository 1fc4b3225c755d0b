import type { Options } from "yargs";
import type { Environment } from "../../stages/surroundings.ts";

const FORMATS = ["table", "json", "yaml", "csv", "value"] as const;
const QUOTES = ["all", "minimal", "none", "nonnumeric"] as const;
type Format = (typeof FORMATS)[number];
export type Quote = (typeof QUOTES)[number];

/**
 * The output options of every command that lists or shows, named as OpenStack's clients name them.
 *
 * @source openstack/cliff, cliff/display.py, lister.py, formatters/table.py
 */
export const formatOptions = {
  format: {
    alias: "f",
    choices: FORMATS,
    default: "table" as Format,
    describe: "Form of the output",
  },
  column: {
    alias: "c",
    type: "string",
    array: true,
    nargs: 1,
    describe: "Show this column only; repeat it for more, shown in the order given",
  },
  "sort-column": {
    type: "string",
    array: true,
    nargs: 1,
    describe: "Sort by this column; repeat it for more; all rows are held in memory",
  },
  noindent: { type: "boolean", describe: "json: all on one line" },
  quote: { choices: QUOTES, default: "nonnumeric" as Quote, describe: "csv: what to quote" },
  "max-width": {
    type: "number",
    describe: "table: columns of the screen to use (CLIFF_MAX_TERM_WIDTH)",
  },
  "fit-width": { type: "boolean", describe: "table: fit it to the screen (CLIFF_FIT_WIDTH=1)" },
  "print-empty": { type: "boolean", describe: "table: print the header when there is no row" },
} as const satisfies Record<string, Options>;

/** What `formatOptions` parses to; the arguments of a command can be given as they are. */
export interface FormatOptions {
  readonly format: Format;
  readonly column?: readonly string[] | undefined;
  readonly sortColumn?: readonly string[] | undefined;
  readonly noindent?: boolean | undefined;
  readonly quote?: Quote | undefined;
  readonly maxWidth?: number | undefined;
  readonly fitWidth?: boolean | undefined;
  readonly printEmpty?: boolean | undefined;
}

/** Columns of the screen a table may use; undefined when it may be as wide as it likes. */
export function tableLimit(
  options: FormatOptions,
  out: { readonly isTTY?: boolean; readonly columns?: number },
  env: Environment,
): number | undefined {
  const most = options.maxWidth ?? Number(env.CLIFF_MAX_TERM_WIDTH ?? 0);
  if (most > 0) return most;
  const fits = out.isTTY === true || (options.fitWidth ?? Number(env.CLIFF_FIT_WIDTH ?? 0) > 0);
  return fits && out.columns !== undefined && out.columns > 0 ? out.columns : undefined;
}
