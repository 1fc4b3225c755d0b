import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import type { FormatOptions } from "../../lib/table/format.ts";
import { verifyManaged } from "../../manage/manage-back.ts";
import { managesNodes } from "../../manage/manage-run.ts";
import { isEqual } from "../../migrate/verify/rules/tally.ts";
import { verifyRun } from "../../migrate/verify/verify.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { movesHosts } from "../../run/host-files.ts";
import { verifySwitched } from "../../switchover/switchover-back.ts";
import { switchesOver } from "../../switchover/switchover-run.ts";
import { type HostVerifyWords, verifyHosts } from "../../takeover/host-verify.ts";
import { isHandedOver } from "../../window/handover/rules/observe.ts";
import { verifyTakeover } from "../../window/handover/verify-takeover.ts";
import { HOST_ACTIONS } from "../options/host/actions.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { EVERY } from "../views/every-row.ts";
import { hostVerifiedText } from "../views/hosts.ts";
import { computesText, NOVA_LEFT, takenOverText, verifiedText } from "../views/verify.ts";
import { notOption, onlyOptions } from "./said.ts";
import { exitWith, note, sinkOf, type Voice } from "./shared.ts";

export async function verifyCommand(args: VerifyArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  if (await movesHosts(run)) {
    onlyOptions("verify of a run between hosts", HOST_ACTIONS.verify.options);
    return verifyHostsCommand(args);
  }
  notOption("verify of this run", "nova-bm-db");
  if (await managesNodes(run)) return verifyOther(args, verifyManaged);
  if (await switchesOver(run)) return verifyOther(args, verifySwitched);
  checkOptions(args);
  const { texts, equal } = args.takeover ? await takenOver(args) : await compared(args);
  for (const text of texts) note(args, text);
  if (!equal) exitWith(EXIT_STATUS.differs.status);
}

/** The same of a run that moves machines between compute hosts. */
export async function verifyHostsCommand(args: Voice & FormatOptions & HostVerifyWords) {
  const counts = await verifyHosts(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  note(args, hostVerifiedText(counts));
  if (counts.wrong > 0) exitWith(EXIT_STATUS.differs.status);
}

/** The same of a run that gives machines their server record, or switches one over. */
async function verifyOther(args: VerifyArgs, verify: typeof verifyManaged): Promise<void> {
  const counts = await verify(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  note(args, hostVerifiedText(counts));
  if (counts.wrong > 0) exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 */
function checkOptions(args: VerifyArgs): void {
  const { takeover, final, novaDb, placementDb, conductorLog, computeLog, queuePurged } = args;
  const usage = (text: string) => new MigrationError("N2I-E100", text);
  if (takeover && (novaDb !== undefined || final))
    throw usage(`--takeover and ${final ? "--final" : "--nova-db"} exclude each other`);
  if (placementDb !== undefined && novaDb === undefined)
    throw usage("--placement-db needs --nova-db");
  if (queuePurged) throw usage("--queue-purged is of a run that moves machines between hosts");
  if (conductorLog !== undefined && !takeover) throw usage("--conductor-log needs --takeover");
  if (computeLog !== undefined && !final) throw usage("--compute-log needs --final");
}

async function compared(args: VerifyArgs) {
  const verified = await verifyRun(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const { computes, novaLeft } = verified;
  const texts = [...verifiedText(verified, args.allRows), ...(novaLeft ? [NOVA_LEFT] : [])];
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
