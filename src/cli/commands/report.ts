import { markdown } from "../../report/markdown.ts";
import { report } from "../../stages/report.ts";
import { writeReport } from "../../stages/report-file.ts";
import type { ReportArgs } from "../options/report.ts";
import { print, say, sinkOf } from "./shared.ts";

export async function reportCommand(args: ReportArgs): Promise<void> {
  const { facts } = await report(args, sinkOf({ ...args, format: "table" }));
  const text = markdown(facts);
  if (args.output === undefined) return print(text);
  say(args, `Saved ${await writeReport(args.output, [text])}.`);
}
