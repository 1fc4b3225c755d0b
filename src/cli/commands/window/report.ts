import { closing } from "../../../run/databases.ts";
import { markdown } from "../../../window/report/markdown.ts";
import { packed, page } from "../../../window/report/page/page.ts";
import { report } from "../../../window/report/report.ts";
import { openParts, pageAssets, writeReport } from "../../../window/report/report-file.ts";
import { print, printMessage, sinkOf, type Voice } from "../shared.ts";

interface ReportArgs extends Voice {
  readonly run: string;
  readonly format: "html" | "md";
  readonly output?: string;
  readonly window?: string;
  readonly allRows: boolean;
}

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
    printMessage(
      args,
      "Open it in a browser. It does not require a network and does not contain passwords. It contains the names of machines, hosts and instances.",
    );
  });
}
