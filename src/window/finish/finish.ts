import { ownershipOf } from "../../engine/ownership.ts";
import { startedChangesIn } from "../../engine/started.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMES } from "../../lib/text.ts";
import { checkEngine, checkIdentity } from "../../migrate/apply/parts.ts";
import { openBackend, type TargetOptions } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { linesOf, plansInIronic, plansOfRun } from "../../migrate/plan/loaded-plans.ts";
import type { GuardPreview } from "../../model/change.ts";
import { FINISH, type Guarded } from "../../model/handover.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { closing, type Keep } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { endOfRun, knowsGuards } from "../../run/finished.ts";
import { inRun, openPlan, PLAN } from "../../run/run.ts";
import { selectionOf } from "../../run/scope.ts";
import { type RunSession, withLocked } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { APPLY_FIRST, unfinished } from "../runner/pipeline.ts";
import { createHandover, filesOf } from "../runner/run-state.ts";
import { verifiedOf } from "../runner/status.ts";
import {
  clearedFields,
  finish,
  type GuardedNode,
  guardsOf,
  runNodes,
  toClear,
} from "./finish-part.ts";

interface FinishOptions extends TargetOptions {
  readonly run: string;
  readonly node?: readonly string[];
  readonly undo: boolean;
  readonly lockWait: number;
}

/**
 * Removes the machines' protection, or with `undo` restores it. The last machine ends the run.
 * @returns also messages about the whole run, and whether a machine was skipped or is missing
 */
export function finishRun(options: FinishOptions, sink: Sink) {
  return withJob({ ...options, readOnly: false }, sink, async (job) => {
    const { backend, plan } = job;
    await checkWindow(job.run, "finish");
    if (!options.undo && verifiedOf(job.files.verified) === "failed") sink.note(DIFFERS);
    const which = options.node?.join(", ") ?? "the machines of this run";
    const { label } = backend;
    await sink.confirm(
      options.undo
        ? `Protect ${which} in ${label} again?`
        : `Clear the protection of ${which} in ${label}? Nova can then delete and rebuild them.`,
    );
    const { identity, release, guard, inFlight, lock } = await openGuard(job);
    return withLocked(job.run, await lock(), FINISH, identity, async (session) => {
      const finishing = { ...session, lockWait: options.lockWait, inFlight, guard };
      const total = options.node === undefined ? plan.footer.footer.machines : options.node.length;
      const made = await sink.during(
        options.undo ? "protect" : "finish",
        total,
        (progress) => finish(job.nodes(), { ...finishing, progress }, options.undo),
        ({ changed }) =>
          `${counted(changed, "machine")} ${options.undo ? "protected again" : "cleared"}`,
      );
      const isComplete = options.node === undefined && !made.stopped && made.broke === null;
      if (isComplete && !options.undo && made.changed + made.fine + made.skipped.length === 0)
        throw new MigrationError("N2I-E320", `no machine that ${job.run.path} loaded is in Ironic`);
      if (!knowsGuards(release.doc.release))
        sink.result(
          `Ironic ${release.doc.release} does not protect machines, so there is nothing to clear.`,
        );
      sink.result(summaryOf(made, options.undo));
      const settled = await settle(job, finishing, made, isComplete && made.skipped.length === 0);
      return { ...made, ...settled, partial: made.skipped.length > 0 || settled.partial };
    });
  });
}

export function previewFinish(options: FinishOptions, sink: Sink): Promise<void> {
  return withJob({ ...options, readOnly: true }, sink, async (job) => {
    const { entries, nodes } = job;
    const { guard } = await openGuard(job);
    const before = options.undo ? clearedFields(startedChangesIn(entries, FINISH)) : null;
    const counts = { clear: 0, leave: 0, miss: 0, keep: 0, protect: 0 };
    const rows = async function* (): AsyncGenerator<GuardPreview> {
      for await (const batch of nodes()) {
        const observed = await guard.observe(batch.map(({ id }) => id));
        for (const node of batch) {
          const { id: uuid, bm_node_id } = node;
          const found = observed.get(uuid);
          const row = previewOf(node, found, before);
          if (row === null) continue;
          counts[row.action] += 1;
          yield { uuid, bm_node_id, ...row };
        }
      }
    };
    await sink.list("guards", rows());
    if (options.undo || options.node !== undefined || (await endOfRun(job.run)) !== null) return;
    if (verifiedOf(job.files.verified) === "failed") sink.note(DIFFERS);
    const open = reasonOpen(job, counts.miss);
    const whys = [
      ...open.whys,
      ...(counts.leave > 0 ? [`${counted(counts.leave, "machine is", "machines are")} left`] : []),
    ];
    if (whys.length === 0) sink.result("Finish would end this run.");
    else sink.result(`Finish would not end this run: ${whys.join("; ")}.${open.next}`);
  });
}

const DIFFERS =
  "The last verify found differences. Run verify, and resolve them before tenants use these machines.";

/** The reason why a run without faults is not done, and its next command. */
function reasonOpen(
  { plan, entries, files }: Job,
  missing: number,
  missingText = `${counted(missing, "machine")}`,
) {
  const open = ownershipOf(entries, IRONIC, plan.footer.sha256).open.length;
  const rest = unfinished(files);
  const whys = [
    ...(open > 0 ? [`${counted(open, "batch", "batches")} of its load did not end`] : []),
    ...(missing > 0 ? [`not in Ironic: ${missingText}`] : []),
  ];
  return {
    whys: rest === null || whys.length > 0 ? whys : [rest.reason],
    fix: rest?.fix ?? APPLY_FIRST,
    next: rest === null ? "" : `\nNext: ${rest.next}`,
  };
}

async function openJob(
  run: RunFolder,
  options: FinishOptions & { readonly readOnly: boolean },
  keep: Keep,
  { report }: Sink,
) {
  const { entries } = await readJournal(run);
  if (plansOf(entries, IRONIC).length === 0)
    throw new MigrationError("N2I-E320", `${run.path} has not loaded any machine`);
  if (!options.undo && plansInIronic(entries).length === 0)
    throw new MigrationError("N2I-E320", `the load of ${run.path} was rolled back`);
  const plan = await openPlan(`${run.path}/${PLAN}`);
  const plans = await plansOfRun(run, plan, entries);
  const isSelected = await selectionOf(options.node ?? [], () => linesOf(plans));
  const backend = keep(await openBackend(options, await loadMappings(), options, report));
  // Only the mode of the load is needed, so the plan's lines are not read.
  const mode = createHandover(plan.footer.sha256, entries)?.end() ?? null;
  // As in `status`, before any change.
  const { files } = await filesOf(run, { run: options.run }, mode);
  const nodes = () => runNodes(plans, entries, isSelected);
  return { run, options, backend, files, plan, entries, nodes };
}

type Job = Awaited<ReturnType<typeof openJob>>;

function withJob<T>(
  options: Parameters<typeof openJob>[1],
  sink: Sink,
  work: (job: Job) => Promise<T>,
): Promise<T> {
  return inRun(options.run, "finish", { kind: "migration" }, (run) =>
    closing(async (keep) => work(await openJob(run, options, keep, sink))),
  );
}

/** The guard of the plan's target. @throws MigrationError N2I-E300 for another target */
async function openGuard({ backend, plan }: Job) {
  const { target } = plan.header;
  checkEngine(target, backend);
  const found = await backend.guard(target.release);
  checkIdentity(target, found.identity);
  return found;
}

type Finished = Awaited<ReturnType<typeof finish>>;

function summaryOf(
  { changed, fine, held: guarded, untaken, gone: missing, skipped }: Finished,
  undo: boolean,
): string {
  if (undo)
    return `Finish undone: ${counted(changed, "machine")} protected again, ${skipped.length} left.`;
  const more = (count: number, text: string): string => (count === 0 ? "" : `, ${count} ${text}`);
  const keeps = more(guarded, "kept by the plan (protected, or not cleaned, until you decide)");
  const waits = more(untaken, "not taken over by a conductor yet (verify --takeover)");
  const rest = `${keeps}${waits}${more(missing.length, "not in Ironic")}, ${skipped.length} left.`;
  return `Finish: ${counted(changed, "machine")} cleared, ${fine} with nothing to clear${rest}`;
}

/** Printed if nothing remains to do. A guided run prints its own end. */
export const RUN_DONE = "This run is done.";

/** Ends a run, or reopens it. @param isComplete every machine of the run is as planned */
async function settle(
  job: Job,
  { now, by, journal }: Pick<RunSession, "by" | "journal" | "now">,
  { stopped, broke, gone: missing }: Finished,
  isComplete: boolean,
): Promise<{ readonly notes: readonly string[]; readonly partial: boolean }> {
  const { run, options, plan } = job;
  const settled = (notes: readonly string[], partial = false) => ({ notes, partial });
  if (stopped || broke !== null) return settled([]);
  const ended = (await endOfRun(run)) !== null;
  if (options.undo) {
    const isPart = !isComplete && startedChangesIn(journal.entries(), FINISH).size > 0;
    if (ended && isPart)
      return settled(["The other machines of this run, and the run itself, remain finished."]);
    if (ended) await journal.append({ do: "reopen", at: now(), by });
    return settled([]);
  }
  if (!isComplete) return settled([], missing.length > 0);
  if (ended) return settled([RUN_DONE]);
  const { whys, fix, next } = reasonOpen(job, missing.length, listed(missing, NAMES));
  // Apply must be able to continue the run.
  if (whys.length > 0)
    return settled([`This run is not done: ${whys.join("; ")}.`, `${fix}${next}`], true);
  await journal.append({ do: "close", plan: plan.footer.sha256, at: now(), by });
  return settled([RUN_DONE]);
}

/** @param before cleared fields by node, for an undo. Null: finish */
function previewOf(
  node: GuardedNode,
  found: Guarded | undefined,
  before: ReturnType<typeof clearedFields> | null,
): Pick<GuardPreview, "action" | "fields" | "reason"> | null {
  const holder = found?.reservation ?? null;
  const busy = holder === null ? "" : `${holder} is working on it, so finish waits`;
  if (before !== null) {
    const cleared = before.get(node.id);
    if (cleared === undefined || found === undefined) return null;
    const fields = Object.keys(guardsOf(node, cleared)).join(" ");
    return { action: "protect", fields, reason: busy };
  }
  const { change, trouble, reason } = toClear(node, found);
  const fields = Object.keys(change).join(" ");
  if (found === undefined)
    return node.optional ? null : { action: "miss", fields, reason: "not in Ironic" };
  if (fields !== "") return { action: "clear", fields, reason: busy };
  if (trouble !== null)
    return { action: "leave", fields, reason: "still staged: hand it over first" };
  return reason === null ? null : { action: "keep", fields: "protected", reason };
}
