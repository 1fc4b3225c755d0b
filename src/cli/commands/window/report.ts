import { closing } from "../../../run/databases.ts";
import { markdown } from "../../../window/report/markdown.ts";
import { packed } from "../../../window/report/page/blocks.ts";
import { page } from "../../../window/report/page/page.ts";
import { report } from "../../../window/report/report.ts";
import { openParts, pageAssets, writeReport } from "../../../window/report/report-file.ts";
import type { ReportArgs } from "../../options/window/report.ts";
import { print, say, sinkOf } from "../shared.ts";

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
      "Open it in a browser. It does not require a network and does not contain passwords. It contains the names of machines, hosts and instances.",
    );
  });
}
