import { page } from "./manual.ts";

/** What a box says. */
export function box(step: string): { readonly [row: string]: string } {
  const rows = [...step.matchAll(/^\| (\w[\w ]*) \| (.*) \|$/gm)];
  return Object.fromEntries(rows.map(([, row = "", text = ""]) => [row, text]));
}

/** The steps of the runbook, as they stand there. */
export const STEPS = steps("");

/** What Juno has in the place of some of them. */
export const JUNO = steps("On Juno, ");

function steps(where: string) {
  const each = new RegExp(
    `^### ${where}${where === "" ? "S" : "s"}tep (\\d+)\\. (.*?)\\n(.*?)(?=^##)`,
    "gms",
  );
  return [...page("runbook").matchAll(each)].map(([, number, title = "", text = ""]) => ({
    ...{ number: Number(number), title, text },
  }));
}
