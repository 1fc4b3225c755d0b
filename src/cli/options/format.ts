import { FORMATS, type FormatOptions, QUOTES } from "../../lib/table/format.ts";
import { flag, grouped, number, words } from "./declared.ts";

/**
 * The output options of every command that lists or shows, named as OpenStack's clients name them.
 *
 * @source openstack/cliff, cliff/display.py, lister.py, formatters/table.py
 */
export const formatOptions = grouped("Output:", {
  format: {
    alias: "f",
    choices: FORMATS,
    default: "table" as FormatOptions["format"],
    describe: "Form of the output",
  },
  column: words("Show this column only. Repeat it for more, in the order of the output", {
    alias: "c",
  }),
  "sort-column": words("Sort by this column. Repeat it for more. All rows are kept in memory"),
  noindent: { type: "boolean", describe: "json: all on one line" },
  quote: {
    choices: QUOTES,
    default: "nonnumeric" as NonNullable<FormatOptions["quote"]>,
    describe: "csv: what to quote",
  },
  "max-width": number("table: columns of the screen to use (CLIFF_MAX_TERM_WIDTH)"),
  "fit-width": { type: "boolean", describe: "table: fit it to the screen (CLIFF_FIT_WIDTH=1)" },
  "print-empty": { type: "boolean", describe: "table: print the header when there is no row" },
});

const lists = {
  match: words(
    "Only rows that fit: COLUMN=VALUE, * for any text; of one column any, of several all",
  ),
  "all-rows": flag("table: every row; without it, a long table is grouped by cause"),
};

/** Those of a command that lists. */
export const listOptions = {
  ...formatOptions,
  ...grouped("Output:", { ...lists, "all-rows": { ...lists["all-rows"], alias: "all" } }),
};

/** Where --all says which machines. */
export const listOptionsWithoutAll = { ...formatOptions, ...grouped("Output:", lists) };

/** Of a command whose list has one form. */
export const matchOption = grouped("Output:", { match: lists.match });
