import { isHandedOver } from "../../core/handover/observe.ts";
import { isEqual } from "../../core/verify/tally.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit-status.ts";
import { computesText, takenOverText, verifiedText } from "../../report/verify.ts";
import { verifyRun } from "../../stages/verify.ts";
import { verifyTakeover } from "../../stages/verify-takeover.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { EVERY } from "./every-row.ts";
import { exitWith, note, sinkOf } from "./shared.ts";

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  checkOptions(args);
  const { texts, equal } = args.takeover ? await takenOver(args) : await compared(args);
  for (const text of texts) note(args, text);
  if (!equal) exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 */
function checkOptions(args: VerifyArgs): void {
  const { takeover, final, novaDb, placementDb, conductorLog, computeLog } = args;
  const usage = (text: string) => new MigrationError("N2I-E100", text);
  if (takeover && (novaDb !== undefined || final))
    throw usage(`--takeover and ${final ? "--final" : "--nova-db"} exclude each other`);
  if (placementDb !== undefined && novaDb === undefined)
    throw usage("--placement-db needs --nova-db");
  if (conductorLog !== undefined && !takeover) throw usage("--conductor-log needs --takeover");
  if (computeLog !== undefined && !final) throw usage("--compute-log needs --final");
}

async function compared(args: VerifyArgs) {
  const verified = await verifyRun(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const { computes } = verified;
  const texts = verifiedText(verified, args.allRows);
  if (computes === null) return { texts, equal: isEqual(verified) };
  const { logs, faults } = computes;
  return {
    texts: [...texts, computesText(logs, faults)],
    equal: isEqual(verified) && faults === 0,
  };
}

async function takenOver(args: VerifyArgs) {
  const { states, logs, faults } = await verifyTakeover(
    args,
    sinkOf({ ...args, every: EVERY.verify(args) }),
  );
  const equal = isHandedOver(states) && faults === 0;
  return { texts: takenOverText(states, logs, faults), equal };
}
