import { markdown } from "../../report/markdown.ts";
import { page } from "../../report/page/page.ts";
import { report } from "../../stages/report.ts";
import { pageAssets, writeReport } from "../../stages/report-file.ts";
import type { ReportArgs } from "../options/report.ts";
import { print, say, sinkOf } from "./shared.ts";

export async function reportCommand(args: ReportArgs): Promise<void> {
  const made = await report(args, sinkOf({ ...args, format: "table" }));
  const asPage = args.format === "html";
  if (!asPage && args.output === undefined) return print(markdown(made.facts, args.allRows));
  const text = asPage ? page(made, pageAssets()) : [markdown(made.facts, args.allRows)];
  const path = await writeReport(args.run, args.output, text);
  print(`${made.facts.verdict.title}\nSaved ${path}.`);
  if (asPage)
    say(
      args,
      "Open it in a browser: it needs no network, and no password is in it. It names machines, hosts and instances.",
    );
}
