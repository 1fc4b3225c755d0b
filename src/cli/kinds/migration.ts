import { nextCommand } from "../../run/next.ts";
import { advice } from "../../window/runner/next-step.ts";
import { runState } from "../../window/runner/run-state.ts";
import { refuseOptions } from "../commands/given-options.ts";
import { sinkOf, watchingOf } from "../commands/shared.ts";
import type { VerifyArgs } from "../options/apply.ts";
import { EVERY } from "../views/every-row.ts";
import { computesText, takenOverText, UNCOMPARED, verifiedText } from "../views/verify.ts";
import type { RunKind, RunVerified } from "./kind.ts";

export const migration: RunKind = {
  status: (run, args) => runState(run, args),
  advice,
  verify(args) {
    refuseOptions("verify of this run", ["nova-bm-db", "queue-purged"]);
    return args.takeover ? takenOver(args) : compared(args);
  },
  async rollback(args, report) {
    refuseOptions("rollback of this run", ["nova-bm-db", "fence-command"]);
    const { migrationBack } = await import("../../migrate/rollback/rollback.ts");
    return migrationBack(args, watchingOf(args, report));
  },
};

async function compared(args: VerifyArgs): Promise<RunVerified> {
  const { verifyRun } = await import("../../migrate/verify/verify.ts");
  const { isEqual } = await import("../../migrate/verify/rules/tally.ts");
  const verified = await verifyRun(args, sinkOf({ ...args, every: EVERY.verify(args) }));
  const { computes, novaSkipped, nova } = verified;
  const texts = [...verifiedText(verified, args.allRows), ...(novaSkipped ? [UNCOMPARED] : [])];
  if (nova !== null && nova.awaited + nova.unreported > 0)
    texts.push(`Next: ${nextCommand("verify", args, { final: true })}`);
  if (computes === null) return { texts, equal: isEqual(verified) };
  const { logs, faults } = computes;
  return {
    texts: [...texts, computesText(logs, faults)],
    equal: isEqual(verified) && faults === 0,
  };
}

async function takenOver(args: VerifyArgs): Promise<RunVerified> {
  const { verifyTakeover } = await import("../../window/handover/handover.ts");
  const sink = sinkOf({ ...args, every: EVERY.verify(args) });
  const { states, logs, faults, equal } = await verifyTakeover(args, sink);
  return { texts: takenOverText(states, logs, faults), equal };
}
