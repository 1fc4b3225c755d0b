import type { Voice } from "../../commands/shared.ts";
import { type Declared, word } from "../declared.ts";
import { common, meaning } from "../shared.ts";

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
    window: word("FROM-TO, such as 02:00-05:00: the planned window, for the times to turn back"),
    ...meaning("all-rows", "Markdown: every section; without it a page"),
  },
  examples: [
    "$0 report --run m1 --window 02:00-05:00",
    "$0 report --run m1 --format md -o change.md",
  ],
};
