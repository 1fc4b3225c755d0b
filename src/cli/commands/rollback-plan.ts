import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { back, type Scope } from "../../engine/back.ts";
import type { Excluded } from "../../engine/part.ts";
import { gather } from "../../engine/walk.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { ironicLeg } from "../../parts/ironic.ts";
import { withIronic } from "../../stages/acting.ts";
import type { Road } from "../../stages/road.ts";
import { openPlan, sealOf } from "../../stages/run.ts";
import type { RunSession } from "../../stages/session.ts";
import type { Left } from "../print/left.ts";
import type { FormatOptions } from "../print/options.ts";
import { inStage, told, type Voice } from "./shared.ts";

interface Args extends Voice, FormatOptions {
  readonly keyFile?: string;
}

interface Undone {
  /** Rows. */
  readonly removed: number;
  /** Machines whose node is left, by uuid, and why. */
  readonly stays: Excluded;
  /** On request, before its end. */
  readonly stopped: boolean;
}

/** What a rollback of one plan goes by. */
export interface Backing {
  readonly run: RunFolder;
  readonly session: RunSession;
  readonly scope: Scope<PlannedMachine>;
  /** Runs before each batch; what it throws keeps that from being begun. */
  readonly look: () => Promise<void>;
  readonly left: Left;
}

/**
 * Takes back what one plan of the run loaded, and tells it.
 *
 * @param excluded machines that stay as they are
 */
export async function undoPlan(
  { run, session, scope, look, left }: Backing,
  road: Road,
  sha256: string,
  excluded: Excluded,
  args: Args,
): Promise<Undone> {
  const { header, footer, lines } = await openPlan(await findPlan(run, sha256));
  const seal = await sealOf(run, args.keyFile, header.key);
  const how = { header, seal, check: false };
  const undone = await withIronic(run, session, road, how, ({ part, check, precondition }) => {
    const before = async (): Promise<void> => {
      await check();
      await look();
    };
    const leg = { ...ironicLeg(part, { sha256, lines }), check: before, precondition };
    return inStage(
      "rollback",
      footer.footer.machines,
      args,
      (progress) => gather(back(leg, session, scope, excluded), progress),
      ({ done }) => `${done} rows removed`,
    );
  });
  told(
    args,
    `Rollback: ${undone.done} rows removed, ${undone.found} gone already, ${undone.left.length} left.`,
  );
  left.add(undone.left);
  if (undone.broke !== null) throw undone.broke;
  const { done: removed, stays, stopped } = undone;
  return { removed, stays, stopped };
}
