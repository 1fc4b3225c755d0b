import { type NovaActing, novaLedger, novaStretches } from "../../core/apply/nova.ts";
import { type NovaUndone, undoNova, undoNovaSteps } from "../../core/apply/undo-nova.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { Json } from "../../model/json.ts";
import { NOVA_PARTS, type NovaPart, type NovaStep } from "../../model/nova-plan.ts";
import { printLeft } from "../print/left.ts";
import { openRole } from "../wire/databases.ts";
import { type FlavorApiOptions, reopenFlavorApi } from "../wire/flavor-api.ts";
import { openNovaPlan, readNovaJournal, withNova } from "../wire/nova-acting.ts";
import type { ComputeWatch, Watching } from "../wire/nova-watch.ts";
import { type Telling, told } from "./shared.ts";

/** What a rollback of Nova's rows would do. */
export async function* novaPreview(
  run: RunFolder,
  wants: (step: NovaStep) => boolean,
): AsyncGenerator<readonly Json[]> {
  const { entries, plans } = await readNovaJournal(run);
  for (const sha256 of plans) {
    const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
    const ledger = novaLedger(entries, sha256);
    for (const part of NOVA_PARTS)
      for await (const { stretch, steps } of novaStretches(plan, part)) {
        for (const { table, id } of undoNovaSteps(steps.filter(wants), ledger, stretch))
          yield ["restore", table, id.slice(id.indexOf(":") + 1), null];
      }
  }
}

/** Rollback of nova, part by part; null without its database. */
export function novaBackOf(
  run: RunFolder,
  args: Telling & FlavorApiOptions & { readonly novaDb?: string },
  scope: Parameters<typeof rollbackNova>[4],
  watching: Watching,
): ((part: NovaPart) => ReturnType<typeof rollbackNova>) | null {
  const { novaDb } = args;
  if (novaDb === undefined) return null;
  let watch = watching;
  return async (part) => {
    const done = await rollbackNova(run, novaDb, args, part, scope, watch, args);
    // What stood still a moment ago is not waited for again; its age is still looked at.
    watch = { ...watch, seconds: 0 };
    return done;
  };
}

/** Takes back what the run changed in one part of nova, newest plan first. */
export async function rollbackNova(
  run: RunFolder,
  novaDb: string,
  reach: FlavorApiOptions,
  part: NovaPart,
  scope: { readonly all: boolean; readonly wants: (step: NovaStep) => boolean },
  watching: Watching,
  format: Telling,
): Promise<{ readonly left: number; readonly stopped: boolean }> {
  const { plans } = await readNovaJournal(run);
  const database = await openRole("nova-db", novaDb, { readOnly: false });
  let left = 0;
  try {
    for (const sha256 of plans) {
      const plan = await openNovaPlan(await findPlan(run, sha256, "nova"));
      // What is not in nova itself is not asked for rows that are.
      const api = part === "api" ? await reopenFlavorApi(plan.header.api, reach, false) : null;
      const undo = async (acting: NovaActing, watch: ComputeWatch): Promise<NovaUndone> => {
        await watch.settle();
        return undoNova(plan, part, scope, acting);
      };
      const undone = await withNova(run, database, plan, api, watching, undo).finally(() =>
        api?.close(),
      );
      const shared =
        undone.shared === 0 ? "" : `; ${undone.shared} that machines share stay until --all`;
      told(
        format,
        `Rollback of nova, ${part}: ${undone.done} rows restored, ${undone.found} so already, ${undone.left.length} left${shared}.`,
      );
      left += undone.left.length;
      await printLeft(undone.left, format);
      if (undone.stopped) return { left, stopped: true };
    }
  } finally {
    await database.close();
  }
  return { left, stopped: false };
}
