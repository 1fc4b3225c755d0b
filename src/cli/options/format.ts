import { FORMATS, type FormatOptions, QUOTES } from "../../lib/table/format.ts";
import { flag, grouped, list, number } from "./declared.ts";

/**
 * Named as in OpenStack's clients.
 *
 * @source openstack/cliff, cliff/display.py, lister.py, formatters/table.py
 */
export const formatOptions = grouped("Output:", {
  format: {
    alias: "f",
    choices: FORMATS,
    default: "table" as FormatOptions["format"],
    describe: "Output format",
  },
  column: list("Show only this column. Repeatable. Columns keep the specified order", {
    alias: "c",
  }),
  "sort-column": list("Sort by this column. Repeatable. All rows are kept in memory"),
  noindent: { type: "boolean", describe: "json: print everything on one line" },
  quote: {
    choices: QUOTES,
    default: "nonnumeric" as NonNullable<FormatOptions["quote"]>,
    describe: "csv: values to quote",
  },
  "max-width": number("table: maximum width in characters (CLIFF_MAX_TERM_WIDTH)"),
  "fit-width": {
    type: "boolean",
    describe: "table: fit the table to the screen (CLIFF_FIT_WIDTH=1)",
  },
  "print-empty": { type: "boolean", describe: "table: print the header even without rows" },
});

const lists = {
  match: list(
    "Show only rows with COLUMN=VALUE. * matches any text. Values of one column are alternatives",
  ),
  "all-rows": flag("table: show every row. By default, a long table is grouped by cause"),
};

export const listOptions = {
  ...formatOptions,
  ...grouped("Output:", { ...lists, "all-rows": { ...lists["all-rows"], alias: "all" } }),
};

/** For commands with another --all. */
export const listOptionsWithoutAll = { ...formatOptions, ...grouped("Output:", lists) };

/** For commands with a table only. */
export const matchOption = grouped("Output:", { match: lists.match });
