import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { counted } from "../../lib/text.ts";
import { type PowerRequest, power } from "../../migrate/power/power.ts";
import { AFTER } from "../../window/runner/after.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { powerView, summary } from "../views/power.ts";
import { groups } from "../views/power-groups.ts";
import { exitWith, type ListArgs, printMessage, sinkOf } from "./shared.ts";

export async function powerCommand(args: ListArgs & PowerRequest): Promise<void> {
  const done = await power(args, sinkOf(args));
  if (done === null) return printMessage(args, AFTER.stoppedPower(args));
  const { counts, machines, altered, noConf } = done;
  const good = counts.verdicts.ok ?? 0;
  for (const line of summary(counts.verdicts)) printMessage(args, line);
  for (const line of groups(done.troubled, machines)) printMessage(args, line);
  await printView(powerView(done.listed, machines), { ...args, every: EVERY.power(args) });
  const but = altered === 0 ? "" : `; ${altered} of them only with a setting listed above`;
  printMessage(
    args,
    `Power: ${good} of ${counted(counts.machines, "machine")} answered as expected${but}.`,
  );
  printMessage(args, `Saved ${args.run}/power.jsonl (sha256 ${done.sha256.slice(0, 12)}).`);
  printMessage(args, AFTER.power(args, counts.machines > good, noConf));
  if (Object.keys(counts.verdicts).some((verdict) => verdict !== "ok"))
    exitWith(EXIT_STATUS.partial.status);
}
