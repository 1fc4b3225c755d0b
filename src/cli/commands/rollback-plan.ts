import { batchOf, stretches } from "../../core/apply/apply.ts";
import { ledgerOf } from "../../core/apply/ledger.ts";
import { type Scope, undo, undoSteps } from "../../core/apply/undo.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { JournalEntry } from "../../model/artefact.ts";
import type { Json } from "../../model/json.ts";
import type { Left } from "../print/left.ts";
import type { FormatOptions } from "../print/options.ts";
import { printRows } from "../print/table.ts";
import { withActing } from "../wire/acting.ts";
import type { Staying } from "../wire/nova-undoing.ts";
import type { Road } from "../wire/road.ts";
import { openPlan, sealOf } from "../wire/run.ts";
import type { NovaWish } from "./nova-back.ts";
import { novaPreview } from "./nova-preview.ts";
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

/** Takes back what one plan of the run loaded, and tells it. */
export async function undoPlan(
  run: RunFolder,
  road: Road,
  sha256: string,
  wanted: Scope,
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
      (progress) => undo(plan.lines(), sha256, wanted, { ...acting, progress }),
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

const COLUMNS = ["Action", "Resource", "UUID", "BM ID", "Why"];

/** A run that loaded nothing has an empty list, where programs read it. */
export async function previewNothing(args: FormatOptions): Promise<void> {
  if (args.format !== "table") await printRows(process.stdout, COLUMNS, [], args);
}

/** Prints what a rollback would take back. */
export async function preview(
  run: RunFolder,
  plans: readonly string[],
  entries: readonly JournalEntry[],
  wanted: Scope,
  ofNova: NovaWish,
  args: Args & Parameters<typeof novaPreview>[1],
): Promise<void> {
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    const staying = yield* novaPreview(run, args, ofNova);
    for (const sha256 of plans) {
      const ledger = ledgerOf(entries, sha256);
      const plan = await openPlan(await findPlan(run, sha256));
      for await (const { from, to, machines } of stretches(
        plan.lines(),
        batchOf(plan.header.target),
      ))
        for (const machine of machines.filter(wanted.wants))
          for (const { id, resource } of undoSteps(machine, ledger, { from, to })) {
            const why = staying.get(machine.uuid ?? "") ?? null;
            const action = why === null ? "remove" : "leave";
            yield [action, resource, id.slice(id.indexOf(":") + 1), machine.bm_node_id, why];
          }
    }
  };
  await printRows(process.stdout, COLUMNS, rows(), args);
}
