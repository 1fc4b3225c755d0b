import { page } from "./manual.ts";

export function box(step: string): { readonly [row: string]: string } {
  const rows = [...step.matchAll(/^- \*\*(\w[\w ]*):\*\* (.*)$/gm)];
  return Object.fromEntries(rows.map(([, row = "", text = ""]) => [row, text]));
}

/** The steps of the runbook, as they stand there. */
export const STEPS = steps("runbook", "");

export const JUNO = steps("runbook-juno", "On Juno, ");

function steps(of: string, where: string) {
  const each = new RegExp(
    `^### ${where}${where === "" ? "S" : "s"}tep (\\d+)\\. (.*?)\\n(.*?)(?=^##)`,
    "gms",
  );
  return [...page(of).matchAll(each)].map(([, number, title = "", text = ""]) => ({
    ...{ number: Number(number), title, text },
  }));
}

/** The steps of a page for the night, each with its cells. */
export function nightRows(name: string) {
  return [...page(name).matchAll(/^\| (\d+) \|(.*)\|$/gm)]
    .map(([, step, text = ""]) => ({ step: Number(step), cells: text.split("|").map(trimmed) }))
    .filter(({ cells }) => cells.length === 6);
}

function trimmed(text: string): string {
  return text.trim();
}
