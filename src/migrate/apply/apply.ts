import { execute } from "../../engine/execute.ts";
import type { Walked } from "../../engine/runner.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted, shellArgument } from "../../lib/text.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import { stepsOf } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import { closing } from "../../run/databases.ts";
import { journalMark, readJournal } from "../../run/files/journal.ts";
import { wasStaged } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { checkNotFinished, unprotected } from "../../run/finished.ts";
import { nextCommand, pick } from "../../run/next.ts";
import { waitingFor } from "../../run/process-context.ts";
import { inRun, openPlan, PLAN, sealToLoad } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { type RunSession, withSession } from "../../run/session.ts";
import type { One, Sink } from "../../run/sink.ts";
import type { ConnectionOptions } from "../flavors/flavor-api.ts";
import { novaPlanOf } from "../hosts/nova-files.ts";
import { type NovaSide, withNovaBackend } from "../hosts/nova-side.ts";
import { afterNova, type Watching } from "../hosts/nova-target.ts";
import { type Backend, openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { stopped } from "../order.ts";
import { blockedText, loadable, nothingLoads } from "../plan/empty-plan.ts";
import { isInIronic } from "../plan/loaded-plans.ts";
import { causeOf, renderCounts } from "../plan/rules/summary.ts";
import { checkReadings } from "../power/power-file.ts";
import { isEqual } from "../verify/rules/used.ts";
import { rememberVerified } from "../verify/verified-file.ts";
import { compare } from "../verify/verify.ts";
import { ironicLeg, type LockedIronic, withIronic } from "./parts.ts";
import { findConductors, foreignNodesFirst, inspectCloser } from "./pre-write-check.ts";

export interface ApplyOptions extends TargetOptions, ConnectionOptions {
  readonly run: string;
  readonly skipBlocked: boolean;
  readonly staged: boolean;
  readonly powerMaxAge: number;
  readonly leaveNova: boolean;
  readonly afterFinish: boolean;
  readonly keyFile?: string;
}

/** Loads the run's plan and verifies the load. Returns null if it was stopped on request. */
export function apply(options: ApplyOptions, watching: Watching, sink: Sink) {
  return inRun(options.run, "apply", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      await checkNotFinished(run, "apply would load the missing machines again", options);
      await checkWindow(run, "apply");
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const { header, footer, lines } = plan;
      const blocked = checkBlocked(footer.footer, options.skipBlocked);
      const seal = await sealToLoad(run, options.keyFile, header);
      const mappings = await loadMappings();
      const backend = keep(await openBackend(options, mappings, { readOnly: false }, sink.report));
      await checkReadings(run, header, options.powerMaxAge);
      sink.report(renderCounts(footer.footer));
      if (footer.footer.nodes + footer.footer.ports > 0)
        await sink.confirm(`Load them into ${backend.label}?`);
      const { entries } = await readJournal(run);
      // Continue in the mode in which the load began. A mixed load would hand over half of its
      // machines.
      const staged = options.staged || wasStaged(entries, footer.sha256);
      if (staged !== options.staged)
        sink.report("This load began with --staged and continues staged.");
      const cleared = () => unprotected(entries);
      const how = { header, seal, check: true, staged, unprotected: cleared };
      const choices = pick(options, ["leave-nova", "skip-blocked", "after-finish"]);
      const again = nextCommand("apply", options, { ...choices, staged, yes: true });
      const job = { run, plan, backend, seal, staged, sink, again };
      const novaOptions = { ...options, confirm: sink.confirm, watching, lines };
      const file = await novaPlanOf(run, footer);
      const skipsNova = options.leaveNova && file !== null && stepsOf(file.counts) > 0;
      const loaded = await withSession(run, (session) =>
        withNovaBackend(run, session, file, novaOptions, (nova) =>
          withIronic(run, session, backend, how, async (locked) => {
            await saveOptions(run, "apply", options);
            if (nova === null)
              sink.report(
                "Notice: without Nova, running nova-compute services are not detected. With --nova-db, extract, plan and apply watch them.",
              );
            return load({ ...job, session, nova, locked });
          }),
        ),
      );
      if (loaded === null) return null;
      const partial = (blocked > 0 || skipsNova) && (loaded.equal || loaded.failed > 0);
      const skipped = `nova2ironic show ${shellArgument(`${options.run}/plan`)} --skipped`;
      if (partial && blocked > 0) await sink.several("Left out", skippedOf(lines()), skipped);
      // Some machines, or Nova's rows, are excluded.
      return { ...loaded, again, partial: partial || loaded.failed > 0 };
    }),
  );
}

async function* skippedOf(lines: AsyncIterable<readonly PlannedMachine[]>): AsyncGenerator<One> {
  for await (const batch of lines)
    for (const line of batch) {
      const { verdict, uuid, bm_node_id, reason } = line;
      if (verdict !== "blocked" && verdict !== "conflict") continue;
      const text = `${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}) ${verdict}: ${reason ?? ""}`;
      yield { text, cause: `${verdict}: ${causeOf(line)}`, bm_node_id };
    }
}

interface Job {
  readonly run: RunFolder;
  readonly plan: Awaited<ReturnType<typeof openPlan>>;
  readonly backend: Backend;
  readonly seal: Seal;
  readonly staged: boolean;
  readonly session: RunSession;
  readonly nova: NovaSide | null;
  readonly locked: LockedIronic;
  readonly sink: Sink;
  readonly again: string;
}

/** Flavors, machines, hosts, then verify. Returns null if it was stopped on request. */
async function load(job: Job) {
  const { run, plan, backend, seal, nova, locked, sink, again } = job;
  const same = backend.same(seal);
  const entries = job.session.journal.entries();
  const about = { ...plan.footer, ...(nova && { lines: plan.lines }) };
  const foreignCheck = plan.header.allow_other_nodes
    ? undefined
    : await foreignNodesFirst(run, backend, locked.target, entries, about);
  const isStarted = isInIronic(entries, plan.footer.sha256);
  const guard = async (): Promise<void> => {
    await locked.precondition();
    const { target_before } = plan.header;
    if (!isStarted) await inspectCloser(plan.lines, target_before, same, locked.target);
    await findConductors(plan.lines, locked.target);
  };
  // Flavors change first, so that a rebuild finds the new images even if the load fails.
  if (nova !== null)
    sink.report("Checking Ironic, its conductors and Nova before the first write.");
  const flavors = await changeNova("flavors", nova, sink, async (side) => {
    // Without Nova, the guard runs in the load, which shows progress.
    await waitingFor("checking before the first write", guard);
    await side.check();
    sink.report("Changing Nova flavors.");
    return side.flavors();
  });
  if (flavors === null) {
    sink.report(stopped(again, ". Nothing is loaded"));
    return null;
  }
  const afterFlavors = (cause: unknown): unknown =>
    flavors.done > 0
      ? afterNova(cause, `${counted(flavors.done, "flavor row is", "flavor rows are")} changed`)
      : cause;
  const applied = await loadMachines(job, guard, foreignCheck).catch((cause: unknown) => {
    throw afterFlavors(cause);
  });
  await reportApplied(applied, sink);
  if (applied.broke !== null) throw afterFlavors(applied.broke);
  if (applied.stopped) {
    const failures = applied.failed.length;
    const also = failures > 0 ? `, and ${counted(failures, "machine")} failed before that` : "";
    sink.report(stopped(again, also));
    return null;
  }
  const excluded = [...applied.excluded, ...applied.failed];
  const out = new Map(excluded.map(({ line, reason }) => [line.uuid ?? "", reason]));
  const moved = await changeNova("hosts", nova, sink, (side) => side.hosts(out)).catch(
    (cause: unknown) => {
      throw applied.done === 0
        ? afterFlavors(cause)
        : afterNova(cause, "Ironic is loaded, but nova is not");
    },
  );
  if (moved === null) {
    sink.report(stopped(again));
    return null;
  }
  const changed = flavors.done + applied.done + moved.done;
  const since = await journalMark(run.path);
  const verified = await compare(plan, locked.target.verifier, same, sink, {
    title: "compare",
  }).catch((cause: unknown) => {
    // Without this, the exit status would be 1, which means that nothing was changed.
    throw changed === 0
      ? cause
      : afterNova(cause, "everything is loaded, but verify did not finish");
  });
  // After a staged load, the hand-over does not run verify again.
  const ironic = isEqual(verified);
  await rememberVerified(run, plan.footer.sha256, since, { ironic });
  return {
    ...{ failed: applied.failed.length, verified },
    equal: ironic && moved.skipped + flavors.skipped === 0,
  };
}

/** @returns rows changed now, and conflicting rows. Null if it was stopped */
async function changeNova(
  what: string,
  nova: NovaSide | null,
  { report, result, several }: Sink,
  change: (nova: NovaSide) => ReturnType<NovaSide["hosts"]>,
): Promise<{ readonly done: number; readonly skipped: number } | null> {
  if (nova === null) return { done: 0, skipped: 0 };
  if (what === "hosts") report("Changing hosts in Nova's rows.");
  const { done, found, skipped, stopped } = await change(nova);
  result(
    `Apply to nova, ${what}: ${counted(done, "row")} changed, ${found} already changed, ${skipped.length} left.`,
  );
  await several(
    "Left",
    Array.from(skipped, ({ id, reason }) => ({ text: `${id} ${reason}`, cause: reason })),
  );
  return stopped ? null : { done, skipped: skipped.length };
}

async function loadMachines(
  job: Job,
  guard: () => Promise<void>,
  making: (() => Promise<void>) | undefined,
): Promise<Walked<PlannedMachine>> {
  const { plan, locked, nova, session, staged } = job;
  const { sha256, footer } = plan.footer;
  const leg = {
    ...ironicLeg(locked.part, { sha256, lines: plan.lines }),
    ...{ staged, precondition: guard, ...(making && { making }) },
    nova: nova === null ? ("left" as const) : ("follows" as const),
    async check() {
      await locked.check();
      // Before the next batch, detects a nova-compute that was started during a long load.
      await nova?.inspect();
    },
  };
  return job.sink.during(
    "apply",
    footer.machines,
    (progress) => execute([leg], session, { direction: "forward" }, progress),
    ({ done, found, broke }) =>
      `${counted(done, "row")} created, ${found} already present${broke === null ? "" : ", stopped partway"}`,
  );
}

async function reportApplied(
  { done, found, skipped, excluded, failed }: Walked<PlannedMachine>,
  { result, several }: Sink,
): Promise<void> {
  const drifted = skipped.length > 0 ? `, ${skipped.length} changed since the load and kept` : "";
  result(`Apply: ${counted(done, "row")} created, ${found} unchanged${drifted}.`);
  const listOf = (some: typeof failed): readonly One[] =>
    some.map(({ line: { uuid, bm_node_id }, reason }) => ({
      ...{ text: `${uuid} (bm_nodes.id=${bm_node_id}) ${reason}`, cause: reason, bm_node_id },
    }));
  await several("Left out", listOf(excluded));
  await several("Failed", listOf(failed));
}

/** @throws MigrationError N2I-E304 if machines are blocked and not skipped, N2I-E325 if all are */
function checkBlocked(counts: PlanCounts, skip: boolean): number {
  const { verdicts } = counts;
  const blocked = verdicts.blocked + verdicts.conflict;
  // `--skip-blocked` would skip everything, so it is not suggested.
  if (loadable(counts) === 0) throw nothingLoads(counts, "N2I-E325");
  if (blocked > 0 && !skip) throw new MigrationError("N2I-E304", blockedText(counts));
  return blocked;
}
