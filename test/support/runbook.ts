import { page } from "./manual.ts";

/** What a box says. */
export function box(step: string): { readonly [row: string]: string } {
  const rows = [...step.matchAll(/^\| (\w[\w ]*) \| (.*) \|$/gm)];
  return Object.fromEntries(rows.map(([, row = "", text = ""]) => [row, text]));
}

/** The steps of the runbook, as they stand there. */
export const STEPS = [...page("runbook").matchAll(/^### Step (\d+)\. (.*?)\n(.*?)(?=^##)/gms)].map(
  ([, number, title = "", text = ""]) => ({ number: Number(number), title, text }),
);
