import { openRun } from "../../../run/files/run-folder.ts";
import { kindOf } from "../../../run/files/run-kind.ts";
import { readmit } from "../../../takeover/host-readmit.ts";
import { refuseOptions } from "../given-options.ts";
import { type ListArgs, printResult, sinkOf } from "../shared.ts";

export async function hostReadmitCommand(
  args: ListArgs & Parameters<typeof readmit>[1],
): Promise<void> {
  const { compute } = args;
  const { variant = "ironic" } = await kindOf(await openRun(args.run, { create: false }));
  if (variant === "ironic") refuseOptions("host readmit of this run", ["nova-bm-db"]);
  const lasts = await readmit(variant, args, sinkOf(args));
  const within = lasts ? ` and its agent, within ${Math.round(lasts / 1000)} s` : "";
  printResult(
    args,
    lasts === null
      ? `${compute} is no longer fenced.`
      : `${compute} can return to service: start its nova-compute${within}.`,
  );
}
