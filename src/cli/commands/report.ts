import { markdown } from "../../report/markdown.ts";
import { packed } from "../../report/page/blocks.ts";
import { page } from "../../report/page/page.ts";
import { closing } from "../../stages/databases.ts";
import { report } from "../../stages/report.ts";
import { openParts, pageAssets, writeReport } from "../../stages/report-file.ts";
import type { ReportArgs } from "../options/report.ts";
import { print, say, sinkOf } from "./shared.ts";

export function reportCommand(args: ReportArgs): Promise<void> {
  const { run, output, allRows } = args;
  const sink = sinkOf({ ...args, format: "table" });
  const save = async (title: string, text: Parameters<typeof writeReport>[2]): Promise<void> =>
    print(`${title}\nSaved ${await writeReport(run, output, text)}.`);
  return closing(async (keep) => {
    if (args.format !== "html") {
      const { facts } = await report(args, sink, null);
      const text = markdown(facts, allRows);
      return output === undefined ? print(text) : save(facts.verdict.title, [text]);
    }
    const parts = keep(openParts(output));
    const made = await report(args, sink, (folder, machines, origins) =>
      parts.keep(folder, packed(machines, origins)),
    );
    await save(made.facts.verdict.title, page({ ...made, machines: parts.pieces }, pageAssets()));
    say(
      args,
      "Open it in a browser: it needs no network, and no password is in it. It names machines, hosts and instances.",
    );
  });
}
