import { inspectBack } from "../../engine/back.ts";
import { execute } from "../../engine/execute.ts";
import type { Excluded } from "../../engine/part.ts";
import type { Walked } from "../../engine/runner.ts";
import { orNull } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import type { UndoPreview } from "../../model/change.ts";
import { type Entries, IRONIC, plansOf, runEntries } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine, Step } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkNotFinished, endOfRun } from "../../run/finished.ts";
import { nextCommand } from "../../run/next.ts";
import { type Rollback, type RollbackOptions, rollbackOf } from "../../run/rollback.ts";
import { openPlan, sealOf } from "../../run/run.ts";
import { machinesByName } from "../../run/scope.ts";
import { withSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import {
  batchOf,
  checkEngine,
  checkIdentity,
  ironicLeg,
  ironicPart,
  withIronic,
} from "../apply/parts.ts";
import { stagedTrees } from "../boot/boot-steps.ts";
import type { ConnectionOptions } from "../flavors/flavor-api.ts";
import {
  type Backing,
  novaStepsBack,
  previewNova,
  type RollbackRequest,
  withNovaBack,
} from "../hosts/nova-back.ts";
import { novaPlans } from "../hosts/nova-files.ts";
import { afterNova, checkExclusions, removalOf, type Watching } from "../hosts/nova-target.ts";
import { type Backend, openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { BACK_AFTER_IRONIC, STOPPED } from "../order.ts";
import { isInIronic } from "../plan/loaded-plans.ts";
import { slowDelete } from "../plan/rules/delete-cost.ts";

interface RollbackCommandOptions extends TargetOptions, ConnectionOptions, RollbackOptions {
  readonly leaveNova: boolean;
  readonly afterFinish: boolean;
  readonly keyFile?: string;
}

/** Rolls back the loaded rows of the run, in the order of `order.ts`. */
export function migrationBack(options: RollbackCommandOptions, watching: Watching): Rollback {
  return rollbackOf({ kind: "migration" }, options, (sink, preview) => ({
    nothing: "this run has not loaded any machine",
    async find(run, entries) {
      if (!preview)
        await checkNotFinished(run, "rollback would remove its machines from Nova", options);
      return found(run, entries, options);
    },
    async open(job, keep) {
      if (!preview) checkExclusions(job.removal, options);
      const isLoaded = job.plans.some((sha256) => isInIronic(job.entries, sha256));
      const optional = job.nova !== null && options.novaDb !== undefined && !isLoaded;
      const backend = await backendOf(options, preview, optional, sink);
      if (backend !== null) keep(backend);
      return { ...job, backend, connection: options, keep };
    },
    question({ entries, backend }) {
      const target = options.all ? "everything" : counted(options.node?.length ?? 0, "machine");
      const wasFinished = [...runEntries(entries)].some((entry) => entry.do === "close");
      const restore = wasFinished ? " If you dropped nova_bm, restore its dump first." : "";
      return `Remove ${target} of this run from ${backend?.label ?? "nova"}?${restore}`;
    },
    async back(job, reportSkipped) {
      const { run, noNova } = job;
      const ended = await withSession(run, (session) =>
        takeBack(job, { session, reportSkipped, sink }, watching),
      );
      if (!ended) sink.report(STOPPED);
      if (!ended) return null;
      const note = "Nova rows of this run are not restored. To roll them back, add --nova-db.";
      return { notes: [...(noNova ? [note] : []), ...treesOf(job)], noNova };
    },
    previews: (job) => previewNova(job, (excluded) => previewIronic(job, excluded)),
    async summary({ run, backend, noNova }, { remove, restore, leave: skipped, nodes }) {
      sink.result(
        `Rollback would remove ${counted(remove, "row")}, restore ${restore} and leave ${skipped}.`,
      );
      const keys = (nodes === 0 ? null : await backend?.scannedKeys?.()) ?? [];
      const slow = slowDelete(nodes, keys);
      if (slow !== null) sink.note(slow.note);
      const end = options.afterFinish ? null : await endOfRun(run);
      if (end !== null)
        sink.note(
          `finish ended this run at ${end.at}. Without --plan, rollback is refused unless you add --after-finish (N2I-E321).`,
        );
      if (noNova) sink.result("Nova rows would not be restored. To roll them back, add --nova-db.");
    },
  }));
}

/** The changes to roll back, from the run's files. Null if the run loaded nothing. */
async function found(run: RunFolder, entries: Entries, options: RollbackCommandOptions) {
  const { all, node = [] } = options;
  const plans = await plansAt(run, entries);
  const never = "was never loaded by this run";
  const lines = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
    for (const sha256 of plans) yield* (await openPlan(await findPlan(run, sha256))).lines();
  };
  const { selects, uuids } = await machinesByName(node, lines, never);
  const changed = plansOf(entries, ...NOVA_NAMES).length > 0;
  if (plans.length === 0 && !changed) return null;
  const scope = { all, selects };
  const nova = {
    ...{ all, plans: changed ? await novaPlans(run) : [] },
    selects: ({ machine }: { readonly machine: string | null }) => all || uuids.has(machine ?? ""),
  };
  // Nova rows need a rollback, but its database is missing.
  const noNova = (await novaStepsBack(nova, entries, options)) > 0 && options.novaDb === undefined;
  const removal = await removalOf(run, plans, entries, scope, options);
  return { run, entries, plans, scope, nova: changed ? nova : null, removal, noNova };
}

/** The run's plans, newest first. A missing plan is allowed if Ironic has none of its rows. */
async function plansAt(run: RunFolder, entries: Entries): Promise<readonly string[]> {
  const plans: string[] = [];
  for (const sha256 of plansOf(entries, IRONIC))
    if (isInIronic(entries, sha256) || (await findPlan(run, sha256).catch(() => null)) !== null)
      plans.push(sha256);
  return plans;
}

/** Only a preview may run without Ironic. @param optional only Nova's rows remain */
async function backendOf(
  options: RollbackCommandOptions,
  preview: boolean,
  optional: boolean,
  { report, note }: Sink,
): Promise<Backend | null> {
  const { ironicDb, ironicUrl, osCloud, via } = options;
  if (preview && ironicDb === undefined && ironicUrl === undefined && !osCloud && via !== "rest") {
    note(
      "Ironic is not read, because its location is missing. Machines that were changed there, and their Nova rows, would stay.",
    );
    return null;
  }
  const mappings = await loadMappings();
  return openBackend(options, mappings, { readOnly: preview }, report).catch((cause: unknown) => {
    if (!optional) throw cause;
    report(
      `Ironic has no rows of this run, so it is not opened: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
    return null;
  });
}

/** Rollback only prints the command, because boot files are on each conductor's host. */
function treesOf({ run, entries }: { readonly run: RunFolder; readonly entries: Entries }) {
  return [...stagedTrees(entries)].flatMap(([tftpRoot, machines]) => {
    if (machines === 0) return [];
    const some = counted(machines, "machine stays", "machines stay");
    const undo = nextCommand("boot", { run: run.path }, { tftpRoot, undo: true });
    return [`Boot files of ${some} in ${tftpRoot}. To remove them: ${undo}`];
  });
}

/** Rolls back Ironic's rows, then Nova's. @returns false if it was stopped */
function takeBack(request: RollbackRequest, backing: Backing, watching: Watching) {
  const { reportSkipped, sink } = backing;
  const { backend, plans } = request;
  return withNovaBack(request, backing, watching, async (nova, inspect) => {
    const excluded = new Map(nova?.changed);
    const unchangedText = (reason: string): string => `${reason}: the whole machine stays`;
    reportSkipped(
      [...excluded].map(([id, text]) => ({ id: `machine:${id}`, reason: unchangedText(text) })),
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
  const undone = await withIronic(run, session, backend, how, async (locked) => {
    const { part, target, precondition } = locked;
    const check = async (): Promise<void> => {
      await locked.check();
      await inspect();
    };
    const leg = { ...ironicLeg(part, { sha256, lines }), check, precondition };
    // Operators name only a few machines.
    const counts = scope.all ? await target.counts() : { nodes: 0 };
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

/** The rows of Ironic that a rollback would remove. @returns machines that stay, with the reason */
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
        if (state.is === "after") continue;
        if (state.is === "other" && machine !== null && !excluded.has(machine))
          unchanged.set(machine, `in Ironic ${id} ${state.reason}`);
        const waits = `${state.reason}: rollback waits for it`;
        yield {
          action: state.is === "other" ? "leave" : "remove",
          ...{ resource, uuid: id.slice(id.indexOf(":") + 1), bm_node_id: line.bm_node_id },
          reason: state.is === "before" ? null : state.is === "waiting" ? waits : state.reason,
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
      inspect: async (steps) => steps.map(({ id }) => ({ id, is: "before", reason: "" })),
    };
  checkEngine(planned, backend);
  const seal = await sealOf(run, connection.keyFile, key);
  const { identity, target } = await backend.open(planned.release, seal);
  checkIdentity(planned, identity);
  return ironicPart(target);
}
