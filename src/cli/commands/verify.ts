import { isHandedOver } from "../../core/handover/observe.ts";
import { isEqual } from "../../core/verify/tally.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/refusals.ts";
import { takenOverText, verifiedText } from "../../report/verify.ts";
import { verifyRun } from "../../stages/verify.ts";
import { verifyTakeover } from "../../stages/verify-takeover.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { exitWith, note, sinkOf } from "./shared.ts";

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  checkOptions(args);
  const { texts, equal } = args.takeover ? await takenOver(args) : await compared(args);
  for (const text of texts) note(args, text);
  if (!equal) exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 */
function checkOptions({ takeover, final, novaDb, placementDb, conductorLog }: VerifyArgs): void {
  const usage = (text: string) => new MigrationError("N2I-E100", text);
  if (takeover && (novaDb !== undefined || final))
    throw usage(`--takeover and ${final ? "--final" : "--nova-db"} exclude each other`);
  if (placementDb !== undefined && novaDb === undefined)
    throw usage("--placement-db needs --nova-db");
  if (conductorLog !== undefined && !takeover) throw usage("--conductor-log needs --takeover");
}

async function compared(args: VerifyArgs) {
  const verified = await verifyRun(args, sinkOf(args));
  return { texts: verifiedText(verified, args.allRows), equal: isEqual(verified) };
}

async function takenOver(args: VerifyArgs) {
  const { states, logs, faults } = await verifyTakeover(args, sinkOf(args));
  const equal = isHandedOver(states) && faults === 0;
  return { texts: takenOverText(states, logs, faults), equal };
}
