import { resolve } from "node:path";
import { PLAN } from "../../../run/files/plan-folder.ts";
import { type MovePlan, movesOf } from "../../../run/host-files.ts";
import { nextCommand } from "../../../run/next.ts";
import { planMoves } from "../../../takeover/host-plan.ts";
import type { HostOptions } from "../../../takeover/target.ts";
import { printView } from "../../print/out.ts";
import { EVERY } from "../../views/every-row.ts";
import { hostsText, movesText, movesView } from "../../views/hosts.ts";
import { checkMode } from "../given-options.ts";
import { type ListArgs, printLines, printMessage, sinkOf } from "../shared.ts";

type PlanArgs = ListArgs & HostOptions & { readonly run: string };

export async function hostPlanCommand(args: PlanArgs): Promise<void> {
  checkMode("plan", args.novaBmDb !== undefined);
  const made = await planMoves(args, sinkOf({ ...args, format: "table" }));
  await printMoves(args, made);
  printMessage(
    args,
    `Saved ${resolve(args.run, PLAN)} (sha256 ${made.sha256.slice(0, 12)}). Nothing was written to Nova.`,
  );
  if (made.manifest.counts.verdicts.move > 0)
    printMessage(args, `Next: ${nextCommand("host", args, {}, "move")}`);
}

export async function printMoves(args: PlanArgs, { manifest }: MovePlan): Promise<void> {
  const path = resolve(args.run, PLAN);
  const every = EVERY.show({ file: path, nova: false });
  await printView(movesView(movesOf(path)), { ...args, every });
  const text = [...hostsText(manifest.findings), movesText(manifest.counts)].join("\n");
  if (args.format === "table") printLines(text);
  else printMessage(args, text);
}
