import { MigrationError } from "../../lib/error.ts";
import { advice } from "../../window/runner/next-step.ts";
import { runState } from "../../window/runner/run-state.ts";
import { notOption } from "../commands/said.ts";
import { sinkOf } from "../commands/shared.ts";
import type { VerifyArgs } from "../options/verify.ts";
import { EVERY } from "../views/every-row.ts";
import { computesText, NOVA_LEFT, takenOverText, verifiedText } from "../views/verify.ts";
import type { RunKind, RunVerified } from "./kind.ts";

export const migration: RunKind = {
  status: (run, args) => runState(run, args),
  advice,
  verify(args) {
    notOption("verify of this run", "nova-bm-db");
    checkOptions(args);
    return args.takeover ? takenOver(args) : compared(args);
  },
  async rollback(args, say) {
    for (const name of ["nova-bm-db", "fence-command"]) notOption("rollback of this run", name);
    const { migrationBack } = await import("../../migrate/rollback/rollback.ts");
    const { watchingOf } = await import("../commands/node/nova-options.ts");
    return migrationBack(args, watchingOf(args, say));
  },
};

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

async function compared(args: VerifyArgs): Promise<RunVerified> {
  const { verifyRun } = await import("../../migrate/verify/verify.ts");
  const { isEqual } = await import("../../migrate/verify/rules/tally.ts");
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

async function takenOver(args: VerifyArgs): Promise<RunVerified> {
  const { verifyTakeover } = await import("../../window/handover/verify-takeover.ts");
  const { isHandedOver } = await import("../../window/handover/rules/observe.ts");
  const { states, logs, faults } = await verifyTakeover(
    args,
    sinkOf({ ...args, every: EVERY.verify(args) }),
  );
  const equal = isHandedOver(states) && faults === 0;
  return { texts: takenOverText(states, logs, faults), equal };
}
