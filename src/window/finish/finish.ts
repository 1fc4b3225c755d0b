import { ownershipOf } from "../../engine/ownership.ts";
import { startedChangesIn } from "../../engine/started.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMED } from "../../lib/text.ts";
import { type Backend, openBackend, type TargetOptions } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { linesOf, plansInIronic, plansOfRun } from "../../migrate/plan/loaded-plans.ts";
import { FINISH, type Guard, type Guarded } from "../../model/handover.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import type { GuardPreview } from "../../model/preview.ts";
import { closing } from "../../run/databases.ts";
import { failpoint } from "../../run/failpoint.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { endOfRun, knowsGuards } from "../../run/finished.ts";
import { inRun, openPlan, PLAN } from "../../run/run.ts";
import { selectionOf } from "../../run/scope.ts";
import { type RunSession, withLocked } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { dutyOf, type GuardedNode, guardsOf } from "../handover/rules/guards.ts";
import { APPLY_FIRST, unfinished } from "../runner/pipeline.ts";
import { createHandover, filesOf } from "../runner/run-state.ts";
import { verifiedOf } from "../runner/status.ts";
import { clearedFields, type Finished, finish, openGuard, runNodes } from "./finish-part.ts";

export interface FinishOptions extends TargetOptions {
  readonly run: string;
  readonly node?: readonly string[];
  readonly undo: boolean;
  readonly lockWait: number;
}

interface Job {
  readonly run: RunFolder;
  readonly words: FinishOptions;
  readonly backend: Backend;
  readonly plan: Awaited<ReturnType<typeof openPlan>>;
  readonly entries: Entries;
  readonly nodes: () => ReturnType<typeof runNodes>;
  /** The run as in `status`, before any change. */
  readonly files: RunFiles;
}

interface Ended extends Pick<Finished, "left" | "stopped" | "broke"> {
  /** Messages about the whole run. */
  readonly notes: readonly string[];
  /** A machine was skipped or is missing. */
  readonly partial: boolean;
}

/** Removes the machines' protection, or with `undo` restores it. The last machine ends the run. */
export function finishRun(words: FinishOptions, sink: Sink): Promise<Ended> {
  return withJob(words, { readOnly: false }, sink, async (job) => {
    const { backend, plan } = job;
    const { lockWait } = words;
    await checkWindow(job.run, "finish");
    if (!words.undo && verifiedOf(job.files.verified) === "failed") sink.note(DIFFERS);
    await sink.confirm(question(words, backend));
    const { identity, release, guard, inFlight, lock } = await openGuard(backend, plan.header);
    return withLocked(job.run, await lock(), FINISH, identity, async (session) => {
      const world = { ...session, lockWait, inFlight, guard: committing(guard) };
      const total = words.node === undefined ? plan.footer.footer.machines : words.node.length;
      const made = await sink.during(
        words.undo ? "protect" : "finish",
        total,
        (progress) => finish(job.nodes(), { ...world, progress }, words.undo),
        ({ changed }) =>
          `${counted(changed, "machine")} ${words.undo ? "protected again" : "cleared"}`,
      );
      const whole = words.node === undefined && !made.stopped && made.broke === null;
      if (whole && !words.undo && made.changed + made.fine + made.left.length === 0)
        throw new MigrationError("N2I-E320", `no machine that ${job.run.path} loaded is in Ironic`);
      if (!knowsGuards(release.doc.release))
        sink.result(
          `Ironic ${release.doc.release} does not protect machines, so there is nothing to clear.`,
        );
      sink.result(summaryOf(made, words.undo));
      const settled = await settle(job, world, made, whole && made.left.length === 0);
      return { ...made, ...settled, partial: made.left.length > 0 || settled.partial };
    });
  });
}

/** The changes of the same command line, read-only. */
export function previewFinish(words: FinishOptions, sink: Sink): Promise<void> {
  return withJob(words, { readOnly: true }, sink, async (job) => {
    const { backend, plan, entries, nodes } = job;
    const { guard } = await openGuard(backend, plan.header);
    const cleared = words.undo ? clearedFields(startedChangesIn(entries, FINISH)) : null;
    const shown = { clear: 0, leave: 0, miss: 0, keep: 0, protect: 0 };
    const rows = async function* (): AsyncGenerator<GuardPreview> {
      for await (const row of previewGuards(guard, nodes(), cleared)) {
        shown[row.action] += 1;
        yield row;
      }
    };
    await sink.list("guards", rows());
    if (words.undo || words.node !== undefined || (await endOfRun(job.run)) !== null) return;
    if (verifiedOf(job.files.verified) === "failed") sink.note(DIFFERS);
    const open = reasonOpen(job, shown.miss);
    const whys = [
      ...open.whys,
      ...(shown.leave > 0 ? [`${counted(shown.leave, "machine is", "machines are")} left`] : []),
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
  gone: number,
  named = `${counted(gone, "machine")}`,
) {
  const open = ownershipOf(entries, IRONIC, plan.footer.sha256).open.length;
  const rest = unfinished(files);
  const whys = [
    ...(open > 0 ? [`${counted(open, "batch", "batches")} of its load did not end`] : []),
    ...(gone > 0 ? [`not in Ironic: ${named}`] : []),
  ];
  return {
    whys: rest === null || whys.length > 0 ? whys : [rest.why],
    fix: rest?.fix ?? APPLY_FIRST,
    next: rest === null ? "" : `\nNext: ${rest.next}`,
  };
}

function withJob<T>(
  words: FinishOptions,
  access: { readonly readOnly: boolean },
  { say }: Sink,
  work: (job: Job) => Promise<T>,
): Promise<T> {
  return inRun(words.run, "finish", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      checkLoaded(run, entries, words);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const plans = await plansOfRun(run, plan, entries);
      const wanted = await selectionOf(words.node ?? [], () => linesOf(plans));
      const backend = keep(await openBackend(words, await loadMappings(), access, say));
      const nodes = () => runNodes(plans, entries, wanted);
      // Only the mode of the load is needed, so the plan's lines are not read.
      const { files } = await filesOf(run, { run: words.run }, ({ footer }, journal) =>
        Promise.resolve(createHandover(footer.sha256, journal)?.end() ?? null),
      );
      return work({ run, words, backend, plan, entries, nodes, files });
    }),
  );
}

function question({ node, undo }: FinishOptions, { shown }: Backend): string {
  const which = node === undefined ? "the machines of this run" : node.join(", ");
  return undo
    ? `Protect ${which} in ${shown} again?`
    : `Clear the protection of ${which} in ${shown}? Nova can then delete and rebuild them.`;
}

/** Refuses a run without loaded machines. @throws MigrationError N2I-E320 */
function checkLoaded({ path }: RunFolder, entries: Entries, { undo }: FinishOptions): void {
  if (plansOf(entries, IRONIC).length === 0)
    throw new MigrationError("N2I-E320", `${path} has not loaded any machine`);
  if (!undo && plansInIronic(entries).length === 0)
    throw new MigrationError("N2I-E320", `the load of ${path} was rolled back`);
}

function summaryOf({ changed, fine, held, untaken, gone, left }: Finished, undo: boolean): string {
  if (undo)
    return `Finish undone: ${counted(changed, "machine")} protected again, ${left.length} left.`;
  const more = (count: number, text: string): string => (count === 0 ? "" : `, ${count} ${text}`);
  const keeps = more(held, "kept by the plan (protected, or not cleaned, until you decide)");
  const waits = more(untaken, "not taken over by a conductor yet (verify --takeover)");
  const rest = `${keeps}${waits}${more(gone.length, "not in Ironic")}, ${left.length} left.`;
  return `Finish: ${counted(changed, "machine")} cleared, ${fine} with nothing to clear${rest}`;
}

/** Printed if nothing remains to do. A guided run prints its own end. */
export const RUN_DONE = "This run is done.";

/** Ends a run, or reopens it. @param whole every machine of the run is as planned */
async function settle(
  job: Job,
  { now, by, journal }: Pick<RunSession, "by" | "journal" | "now">,
  { stopped, broke, gone }: Finished,
  whole: boolean,
): Promise<Pick<Ended, "notes" | "partial">> {
  const { run, words, plan } = job;
  const notes: string[] = [];
  if (stopped || broke !== null) return { notes, partial: false };
  const ended = (await endOfRun(run)) !== null;
  if (words.undo) {
    if (ended && !whole && startedChangesIn(journal.entries(), FINISH).size > 0)
      notes.push("The other machines of this run, and the run itself, remain finished.");
    else if (ended) await journal.append({ do: "reopen", at: now(), by });
    return { notes, partial: false };
  }
  if (!whole) return { notes: [], partial: gone.length > 0 };
  if (!ended) {
    const { sha256 } = plan.footer;
    const { whys, fix, next } = reasonOpen(job, gone.length, listed(gone, NAMED));
    // Apply must be able to continue it.
    if (whys.length > 0)
      return {
        notes: [`This run is not done: ${whys.join("; ")}.`, `${fix}${next}`],
        partial: true,
      };
    await journal.append({ do: "close", plan: sha256, at: now(), by });
  }
  return { notes: [RUN_DONE], partial: false };
}

/** The changes of the same command line. @param cleared for undo: cleared fields by node */
async function* previewGuards(
  guard: Pick<Guard, "observe">,
  nodes: AsyncIterable<readonly GuardedNode[]>,
  cleared: ReturnType<typeof clearedFields> | null,
): AsyncGenerator<GuardPreview> {
  for await (const batch of nodes) {
    const seen = await guard.observe(batch.map(({ uuid }) => uuid));
    for (const node of batch) {
      const { uuid, bm_node_id } = node;
      const found = seen.get(uuid);
      const row = cleared === null ? toClear(node, found) : toProtect(node, cleared, found);
      if (row !== null) yield { uuid, bm_node_id, ...row };
    }
  }
}

type Row = Pick<GuardPreview, "action" | "fields" | "why"> | null;

function toClear(node: GuardedNode, found: Guarded | undefined): Row {
  const duty = dutyOf(node, found);
  switch (duty.do) {
    case "clear":
      return { action: "clear", fields: Object.keys(duty.change).join(" "), why: busy(found) };
    case "staged":
      return { action: "leave", fields: "", why: "still staged: hand it over first" };
    case "nothing":
      return duty.why === null ? null : { action: "keep", fields: "protected", why: duty.why };
    case "gone":
      return node.optional ? null : { action: "miss", fields: "", why: "not in Ironic" };
  }
}

function toProtect(
  node: GuardedNode,
  cleared: ReturnType<typeof clearedFields>,
  found: Guarded | undefined,
): Row {
  const ours = cleared.get(node.uuid);
  if (ours === undefined || found === undefined) return null;
  const fields = Object.keys(guardsOf(node, ours)).join(" ");
  return { action: "protect", fields, why: busy(found) };
}

function busy(found: Guarded | undefined): string {
  const holder = found?.reservation ?? null;
  return holder === null ? "" : `${holder} is working on it, so finish waits`;
}

/** Failpoints before and after each change. */
function committing(guard: Guard): Guard {
  return {
    ...guard,
    async write(uuid, seen, change) {
      await failpoint("write.before");
      const written = await guard.write(uuid, seen, change);
      await failpoint("write.after");
      return written;
    },
  };
}
