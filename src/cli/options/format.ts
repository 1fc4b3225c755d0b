import { FORMATS, type FormatOptions, QUOTES } from "../../lib/table/format.ts";
import { ALL_DECISIONS, CONNECTIONS } from "../../run/next.ts";
import { flag, grouped, list, number, string } from "./declared.ts";

/** Options of every command. */
export const everyCommand = grouped("Every command:", {
  quiet: flag("Do not print progress", { alias: "q" }),
  verbose: flag("Print every row, progress every second, and the duration of each stage", {
    alias: "v",
  }),
  json: flag("Print progress as JSON lines on stderr"),
  "progress-interval": number("Seconds between progress lines if there is no terminal", {
    default: 30,
  }),
  "db-timeout": number("Maximum seconds for a database statement", { default: 120, least: 1 }),
  config: string("Connections file (default: NOVA2IRONIC_CONFIG, or ./nova2ironic.yaml)"),
  without: list("Ignore this option's value from nova2ironic.yaml and from the run. Repeatable", {
    choices: [...CONNECTIONS, ...ALL_DECISIONS],
  }),
  debug: flag("If an error occurs, show its origin in the code"),
});

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
