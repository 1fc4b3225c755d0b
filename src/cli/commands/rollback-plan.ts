import { looking } from "../../core/apply/looking.ts";
import { type Scope, undo } from "../../core/apply/undo.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { Left } from "../print/left.ts";
import type { FormatOptions } from "../print/options.ts";
import { withActing } from "../wire/acting.ts";
import type { Staying } from "../wire/nova-undoing.ts";
import type { Road } from "../wire/road.ts";
import { openPlan, sealOf } from "../wire/run.ts";
import { inStage, told, type Voice } from "./shared.ts";

interface Args extends Voice, FormatOptions {
  readonly keyFile?: string;
}

interface Undone {
  /** Rows. */
  readonly removed: number;
  /** Machines whose node is left, by uuid, and why. */
  readonly staying: Staying;
  /** On request, before its end. */
  readonly stopped: boolean;
}

/**
 * Takes back what one plan of the run loaded, and tells it.
 *
 * @param look runs before each batch; what it throws keeps that from being begun
 */
export async function undoPlan(
  run: RunFolder,
  road: Road,
  sha256: string,
  wanted: Scope,
  look: () => Promise<void>,
  left: Left,
  args: Args,
): Promise<Undone> {
  const plan = await openPlan(await findPlan(run, sha256));
  const seal = await sealOf(run, args.keyFile, plan.header.key);
  const undone = await withActing(run, road, plan.header, seal, { check: false }, (acting) =>
    inStage(
      "rollback",
      plan.footer.footer.machines,
      args,
      (progress) => undo(plan.lines(), sha256, wanted, looking({ ...acting, progress }, look)),
      ({ removed }) => `${removed} rows removed`,
    ),
  );
  told(
    args,
    `Rollback: ${undone.removed} rows removed, ${undone.gone} gone already, ${undone.left.length} left.`,
  );
  left.add(undone.left);
  if (undone.broke !== null) throw undone.broke;
  const staying = new Map(
    undone.left.flatMap(({ id, why }) =>
      id.startsWith(NODE) ? [[id.slice(NODE.length), why] as const] : [],
    ),
  );
  const { removed, stopped } = undone;
  return { removed, staying, stopped };
}

const NODE = "node:";
