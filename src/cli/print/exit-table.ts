import { EXIT_STATUS } from "../../model/exit.ts";

/** The exit statuses as the Markdown table of README.md, in the order of the model. */
export function exitTable(): string {
  const rows = Object.entries(EXIT_STATUS).map(
    ([name, { status, meaning }]) => `| ${status} | ${name} | ${meaning.replaceAll("|", "\\|")} |`,
  );
  return `${["| status | name | meaning |", "|---:|---|---|", ...rows].join("\n")}\n`;
}
