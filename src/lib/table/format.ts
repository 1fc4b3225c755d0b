export const FORMATS = ["table", "json", "yaml", "csv", "value"] as const;
export const QUOTES = ["all", "minimal", "none", "nonnumeric"] as const;
export type Quote = (typeof QUOTES)[number];

/** Output options of a command, as the argument parser returns them. */
export interface FormatOptions {
  readonly format: (typeof FORMATS)[number];
  readonly column?: readonly string[] | undefined;
  readonly sortColumn?: readonly string[] | undefined;
  readonly noindent?: boolean | undefined;
  readonly quote?: Quote | undefined;
  readonly maxWidth?: number | undefined;
  readonly fitWidth?: boolean | undefined;
  readonly printEmpty?: boolean | undefined;
  /** `COLUMN=VALUE`: show matching rows only. */
  readonly match?: readonly string[] | undefined;
  /** Show every row of a long table, which is otherwise grouped by cause. */
  readonly allRows?: boolean | undefined;
  /** A read-only command that lists all rows. */
  readonly every?: string | undefined;
}

export interface Screen {
  readonly colour?: boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly env: { readonly [name: string]: string | undefined };
}

/** @source no-color.org, force-color.org */
export function isColoured({ isTTY, env }: Screen): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  const { FORCE_COLOR: forced = "" } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return isTTY === true && env.TERM !== "dumb";
}

/** Maximum width of a table in columns. Undefined for no limit. */
export function tableLimit(
  options: FormatOptions,
  { isTTY, columns, env }: Screen,
): number | undefined {
  const most = options.maxWidth ?? Number(env.CLIFF_MAX_TERM_WIDTH ?? 0);
  if (most > 0) return most;
  const isLimited = isTTY === true || (options.fitWidth ?? Number(env.CLIFF_FIT_WIDTH ?? 0) > 0);
  return isLimited && columns !== undefined && columns > 0 ? columns : undefined;
}
