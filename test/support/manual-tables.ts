import { EXIT_STATUS } from "../../src/lib/exit-status.ts";
import { CHECK_STATUS } from "../../src/model/check.ts";

/** The exit statuses as the Markdown table of the manual, in the order of the model. */
export function exitTable(): string {
  const rows = Object.entries(EXIT_STATUS).map(
    ([name, { status, meaning }]) => `| ${status} | ${name} | ${meaning.replaceAll("|", "\\|")} |`,
  );
  return `${["| status | name | meaning |", "|---:|---|---|", ...rows].join("\n")}\n`;
}

/** `check`'s exit statuses as the Markdown table of the manual. */
export function checkTable(): string {
  const rows = Object.entries(CHECK_STATUS).map(
    ([name, { status, meaning }]) => `| ${status} | ${name} | ${meaning} |`,
  );
  return `${["| status | result | meaning |", "|---:|---|---|", ...rows].join("\n")}\n`;
}
