import type { Voice } from "../../commands/shared.ts";
import { type Declared, word } from "../declared.ts";
import { common, meaning, NOVA_DATABASES, needed, TARGET } from "../shared.ts";

export interface ReportArgs extends Voice {
  readonly run: string;
  readonly format: "html" | "md";
  readonly output?: string;
  readonly window?: string;
  readonly allRows: boolean;
}

export const reportOptions: Declared = {
  command: "report",
  describe: "Write what a plan will do, and what was found, as a page that people read and sign",
  options: {
    ...common("run"),
    format: {
      ...{ alias: "f", choices: ["html", "md"], default: "html" },
      describe: "A page for a browser, or Markdown for a change ticket",
    },
    output: word("The file to write; without it RUN/report.html, or stdout for Markdown", {
      alias: "o",
    }),
    window: word("FROM-TO, such as 02:00-05:00: the planned window, for the times to turn back", {
      form: [
        /^((?:[01]?\d|2[0-3]):[0-5]\d)-(?!\1$)(?:[01]?\d|2[0-3]):[0-5]\d$/,
        "FROM-TO, two different times of day, such as 02:00-05:00",
      ],
    }),
    ...meaning("all-rows", "Markdown: every section; without it a page"),
  },
  examples: [
    "$0 report --run m1 --window 02:00-05:00",
    "$0 report --run m1 --format md -o change.md",
  ],
};

export const retireOptions: Declared = {
  command: "retire",
  describe:
    "After the window: check whether nova_bm may go, and print the dump and DROP statements",
  options: {
    ...common("run"),
    ...needed("nova-bm-db"),
    ...common(...TARGET),
    ...meaning("nova-db", "Nova's database: also check that no nova-compute is of nova-baremetal"),
    ...common(...NOVA_DATABASES.slice(1)),
    ...common("key-file"),
  },
  examples: [
    "$0 retire --run m1 --nova-bm-db conf:/etc/nova/nova.conf --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};
