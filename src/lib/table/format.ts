export const FORMATS = ["table", "json", "yaml", "csv", "value"] as const;
export const QUOTES = ["all", "minimal", "none", "nonnumeric"] as const;
type Format = (typeof FORMATS)[number];
export type Quote = (typeof QUOTES)[number];

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
  /** `COLUMN=VALUE`: only rows that fit. */
  readonly match?: readonly string[] | undefined;
  /** Every row of a long table, which is told by causes otherwise. */
  readonly allRows?: boolean | undefined;
  /** The command that lists them all: one that only reads. */
  readonly every?: string | undefined;
}

/** Where a table is to be read. */
export interface Screen {
  /** Verdicts are in colour. */
  readonly colour?: boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly env: { readonly [name: string]: string | undefined };
}

/**
 * Whether verdicts are in colour: on a terminal that is not dumb, or by FORCE_COLOR; never with NO_COLOR.
 *
 * @source no-color.org, force-color.org
 */
export function isColoured({ isTTY, env }: Screen): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  const { FORCE_COLOR: forced = "" } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTTY === true && env.TERM !== "dumb";
}

/** Columns of the screen a table may use; undefined when it may be as wide as it likes. */
export function tableLimit(
  options: FormatOptions,
  { isTTY, columns, env }: Screen,
): number | undefined {
  const most = options.maxWidth ?? Number(env.CLIFF_MAX_TERM_WIDTH ?? 0);
  if (most > 0) return most;
  const fits = isTTY === true || (options.fitWidth ?? Number(env.CLIFF_FIT_WIDTH ?? 0) > 0);
  return fits && columns !== undefined && columns > 0 ? columns : undefined;
}
