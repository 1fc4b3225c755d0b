import { type Declared, string } from "../declared.ts";
import { common, meaning, NOVA_DATABASES, needed, TARGET } from "../shared.ts";

export const reportOptions: Declared = {
  command: "report",
  describe: "Write a page about the plan and its findings, for review and approval",
  options: {
    ...common("run"),
    format: {
      ...{ alias: "f", choices: ["html", "md"], default: "html" },
      describe: "HTML for a browser, or Markdown for a change ticket",
    },
    output: string("Output file (default: RUN/report.html, or stdout for Markdown)", {
      alias: "o",
    }),
    window: string(
      "FROM-TO, such as 02:00-05:00: the planned window, for the latest times to roll back",
      {
        form: [
          /^((?:[01]?\d|2[0-3]):[0-5]\d)-(?!\1$)(?:[01]?\d|2[0-3]):[0-5]\d$/,
          "FROM-TO, two different times of day, such as 02:00-05:00",
        ],
      },
    ),
    ...meaning("all-rows", "Markdown: include every section. By default, the report is one page"),
  },
  examples: [
    "$0 report --run m1 --window 02:00-05:00",
    "$0 report --run m1 --format md -o change.md",
  ],
};

export const retireOptions: Declared = {
  command: "retire",
  describe: "After the window: check whether nova_bm can be dropped, and print the statements",
  options: {
    ...common("run"),
    ...needed("nova-bm-db"),
    ...common(...TARGET),
    ...meaning("nova-db", "Nova's database, to check that no nova-compute uses nova-baremetal"),
    ...common(...NOVA_DATABASES.slice(1)),
    ...common("key-file"),
  },
  examples: [
    "$0 retire --run m1 --nova-bm-db conf:/etc/nova/nova.conf --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};
