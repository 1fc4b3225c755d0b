import { openRun } from "../../../run/files/run-folder.ts";
import { kindOf } from "../../../run/files/run-kind.ts";
import type { LegacyPlaces } from "../../../takeover/baremetal/legacy-place.ts";
import { readmitLegacy } from "../../../takeover/baremetal/legacy-readmit.ts";
import { type ReadmitWords, readmit } from "../../../takeover/host-readmit.ts";
import { refuseOptions } from "../said.ts";
import { type ListArgs, printResult, sinkOf } from "../shared.ts";

export async function hostReadmitCommand(
  args: ListArgs & ReadmitWords & LegacyPlaces,
): Promise<void> {
  const { compute } = args;
  const none = `${compute} is not fenced any more.`;
  const may = `${compute} may come back: start its nova-compute`;
  const { variant } = await kindOf(await openRun(args.run, { create: false }));
  if (variant === "baremetal") {
    const lasts = await readmitLegacy(args, sinkOf(args));
    const within = lasts === 0 ? "" : ` and its agent, within ${Math.round((lasts ?? 0) / 1000)} s`;
    printResult(args, lasts === null ? none : `${may}${within}.`);
    return;
  }
  refuseOptions("host readmit of this run", ["nova-bm-db"]);
  const lifted = await readmit(args, sinkOf(args));
  printResult(args, lifted === 0 ? none : `${may}.`);
}
