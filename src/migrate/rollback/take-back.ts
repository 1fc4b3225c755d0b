import { inspectBack } from "../../engine/back.ts";
import { execute } from "../../engine/execute.ts";
import type { Excluded } from "../../engine/part.ts";
import type { Walked } from "../../engine/runner.ts";
import { orNull } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { UndoPreview } from "../../model/change.ts";
import { IRONIC } from "../../model/journal.ts";
import type { PlannedMachine, Step } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import { openPlan, sealOf } from "../../run/run.ts";
import {
  batchOf,
  checkEngine,
  checkIdentity,
  ironicLeg,
  ironicPart,
  withIronic,
} from "../apply/parts.ts";
import {
  type Backing,
  previewNova,
  type RollbackRequest,
  withNovaBack,
} from "../hosts/nova-back.ts";
import { afterNova, type Watching } from "../hosts/nova-target.ts";
import type { Backend } from "../open/backend.ts";
import { BACK_AFTER_IRONIC } from "../order.ts";
import { slowDelete } from "../plan/rules/delete-cost.ts";

/** Rolls back Ironic's rows, then Nova's. @returns false if it was stopped */
export function takeBack(
  request: RollbackRequest,
  backing: Backing,
  watching: Watching,
): Promise<boolean> {
  const { reportSkipped, sink } = backing;
  const { backend, plans } = request;
  return withNovaBack(request, backing, watching, async (nova, inspect) => {
    const excluded = new Map(nova?.changed);
    reportSkipped(
      [...excluded].map(([id, reason]) => ({
        id: `machine:${id}`,
        reason: `${reason}: the whole machine stays`,
      })),
    );
    let removed = 0;
    const unchanged = new Map<string, string>();
    for (const sha256 of plans) {
      if (backend === null) break;
      const undone = await undoPlan(request, backing, backend, sha256, { excluded, inspect });
      removed += undone.done;
      for (const [uuid, reason] of undone.unchanged) unchanged.set(uuid, reason);
      if (undone.stopped) return false;
    }
    if (nova === null) return true;
    if (unchanged.size > 0)
      sink.result(
        `${counted(unchanged.size, "machine remains", "machines remain")} in Ironic, and so do the rows in nova.`,
      );
    for (const [uuid, reason] of unchanged) excluded.set(uuid, reason);
    let restored = 0;
    for (const stage of BACK_AFTER_IRONIC) {
      const undone = await nova.part(stage, excluded).catch((cause: unknown) => {
        if (removed + restored === 0) throw cause;
        const ironic =
          removed === 0 ? "" : `${counted(removed, "row is", "rows are")} removed from Ironic, `;
        const some = restored === 0 ? "" : `${restored} restored in nova, `;
        throw afterNova(cause, `${ironic}${some}nova's are not all restored`);
      });
      if (undone.stopped) return false;
      restored += undone.done;
    }
    return true;
  });
}

/** Rolls back one plan of the run, and reports it. */
async function undoPlan(
  { run, scope, connection }: RollbackRequest,
  { session, reportSkipped, sink }: Backing,
  backend: Backend,
  sha256: string,
  { excluded, inspect }: { readonly excluded: Excluded; readonly inspect: () => Promise<void> },
): Promise<Walked<PlannedMachine>> {
  const { header, footer, lines } = await openPlan(await findPlan(run, sha256));
  const seal = await sealOf(run, connection.keyFile, header.key);
  const how = { header, seal, check: false };
  const undone = await withIronic(run, session, backend, how, async (lockedIronic) => {
    const { part, check, precondition } = lockedIronic;
    const before = async (): Promise<void> => {
      await check();
      await inspect();
    };
    const leg = { ...ironicLeg(part, { sha256, lines }), check: before, precondition };
    // Operators name only a few machines.
    const counts = scope.all ? await lockedIronic.target.counts() : { nodes: 0 };
    const nodes = Math.min(footer.footer.machines, counts.nodes);
    // A failure is ignored, because the advice only saves time.
    const keys = (backend.scannedKeys && (await orNull(backend.scannedKeys()))) ?? [];
    const slow = slowDelete(nodes, keys);
    if (slow !== null) sink.note(slow.note);
    return sink.during(
      "rollback",
      footer.footer.machines,
      (progress) => execute([leg], session, { direction: "back", only: scope, excluded }, progress),
      ({ done }) => `${counted(done, "row")} removed`,
    );
  });
  sink.result(
    `Rollback: ${counted(undone.done, "row")} removed, ${undone.found} already deleted, ${undone.skipped.length + undone.retained} left.`,
  );
  reportSkipped(undone.skipped);
  if (undone.broke !== null) throw undone.broke;
  return undone;
}

/** The rows that a rollback with the same options would revert, in rollback order. */
export function previewBack(request: RollbackRequest): AsyncGenerator<UndoPreview> {
  return previewNova(request, (excluded) => previewIronic(request, excluded));
}

/** @returns machines that stay, with the reason */
async function* previewIronic(
  request: RollbackRequest,
  excluded: Excluded,
): AsyncGenerator<UndoPreview, Excluded> {
  const unchanged = new Map<string, string>();
  for (const sha256 of request.plans) {
    const { header, lines } = await openPlan(await findPlan(request.run, sha256));
    const leg = ironicLeg(await inspected(request, header), { sha256, lines });
    for await (const batch of inspectBack(leg, request.entries, request.scope, excluded))
      for (const { line, change, state } of batch) {
        const { id, resource, machine } = change;
        const { is } = state;
        if (is === "after") continue;
        if (is === "other" && machine !== null && !excluded.has(machine))
          unchanged.set(machine, `in Ironic ${id} ${state.reason}`);
        const waits = `${state.reason}: rollback waits for it`;
        yield {
          action: is === "other" ? "leave" : "remove",
          ...{ resource, uuid: id.slice(id.indexOf(":") + 1), bm_node_id: line.bm_node_id },
          reason: is === "before" ? null : is === "waiting" ? waits : state.reason,
        };
      }
  }
  return unchanged;
}

/** @throws MigrationError N2I-E300 and those of opening it, as in the command itself */
async function inspected(
  { run, backend, connection }: RollbackRequest,
  { target: planned, key }: PlanHeader,
): Promise<Parameters<typeof inspectBack<Step, PlannedMachine>>[0]["part"]> {
  // Without Ironic's location, only the journal is known.
  if (backend === null)
    return {
      ...{ name: IRONIC, size: batchOf(planned) },
      inspect: (steps) =>
        Promise.resolve(steps.map(({ id }) => ({ id, is: "before", reason: "" }))),
    };
  checkEngine(planned, backend);
  const seal = await sealOf(run, connection.keyFile, key);
  const { identity, target } = await backend.open(planned.release, seal);
  checkIdentity(planned, identity);
  return ironicPart(target);
}
