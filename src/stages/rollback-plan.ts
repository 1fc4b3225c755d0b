import { findPlan } from "../edge/disk/plan-folder.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Scope } from "../engine/back.ts";
import { execute } from "../engine/execute.ts";
import type { Excluded } from "../engine/part.ts";
import type { Left } from "../model/change.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { ironicLeg } from "../parts/ironic.ts";
import type { Backend } from "./backend.ts";
import { withIronic } from "./ironic-place.ts";
import { openPlan, sealOf } from "./run.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";

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
  /** Told of rows that stay as they are. */
  readonly leave: (rows: readonly Left[]) => void;
  readonly sink: Sink;
  readonly keyFile: string | undefined;
}

/**
 * Takes back what one plan of the run loaded, and tells it.
 *
 * @param excluded machines that stay as they are
 */
export async function undoPlan(
  { run, session, scope, look, leave, sink, keyFile }: Backing,
  backend: Backend,
  sha256: string,
  excluded: Excluded,
): Promise<Undone> {
  const { header, footer, lines } = await openPlan(await findPlan(run, sha256));
  const seal = await sealOf(run, keyFile, header.key);
  const how = { header, seal, check: false };
  const undone = await withIronic(run, session, backend, how, ({ part, check, precondition }) => {
    const before = async (): Promise<void> => {
      await check();
      await look();
    };
    const leg = { ...ironicLeg(part, { sha256, lines }), check: before, precondition };
    return sink.during(
      "rollback",
      footer.footer.machines,
      (progress) => execute([leg], session, { direction: "back", only: scope, excluded }, progress),
      ({ done }) => `${done} rows removed`,
    );
  });
  sink.told(
    `Rollback: ${undone.done} rows removed, ${undone.found} gone already, ${undone.left.length} left.`,
  );
  leave(undone.left);
  if (undone.broke !== null) throw undone.broke;
  const { done: removed, stays, stopped } = undone;
  return { removed, stays, stopped };
}
