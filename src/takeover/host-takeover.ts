import { MigrationError, orNull } from "../lib/error.ts";
import { plansOf } from "../model/journal.ts";
import { HOST_PARTS } from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { runFence } from "../run/fence-command.ts";
import { readJournal } from "../run/files/journal.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { openMachines } from "../systems/nova-db/machines.ts";
import { type LegacyInputs, legacyOptions, openLegacyClients } from "./baremetal/legacy-clients.ts";
import { takeOverLegacy } from "./baremetal/legacy-takeover.ts";
import { type HostMoved, isThrough, performMoves } from "./host-moves.ts";
import {
  askDown,
  checkMovable,
  type HostPlanOptions,
  hostsIn,
  makeMoves,
  type Planning,
  siteOf,
  type TakeoverOptions,
  watchedPlan,
} from "./host-plan.ts";
import { configuredDownTime } from "./host-watch.ts";
import { openTarget } from "./open-target.ts";
import { rowsToRestore } from "./steps/host-move.ts";
import { type MoveTarget, openHostClients } from "./target.ts";

export function planMoves(options: HostPlanOptions, sink: Sink): Promise<MovePlan> {
  const variant = options.novaBmDb === undefined ? "ironic" : "baremetal";
  return inRun(options.run, "host plan", { kind: "takeover", variant, create: true }, (run) =>
    closing(async (keep) => {
      const target = await openTarget(variant, options, keep, { readOnly: true }, sink.report);
      const planned = await makeMoves(run, target, "move", options, sink);
      await saveOptions(run, "host", options);
      return planned;
    }),
  );
}

/**
 * The fence is in the row of the host's heartbeat. The same command resumes.
 *
 * @param show receives the plan before the question
 * @returns null if nothing was done
 * @throws MigrationError N2I-E316 if the host is up
 */
export function takeOver(
  variant: MoveTarget["variant"],
  options: TakeoverOptions,
  sink: Sink,
  show: (made: MovePlan) => Promise<void>,
): Promise<HostMoved | null> {
  if (variant === "baremetal" && hostsIn(options).length > 1)
    throw new MigrationError(
      "N2I-E100",
      "--to accepts only this host, to which --tftp-root belongs",
      { fix: "To use more hosts, run host plan and host move on each host." },
    );
  const about = { kind: "takeover", variant, create: true } as const;
  return inRun(options.run, "host takeover", about, (run) =>
    closing(async (keep) => {
      const opening = [keep, { readOnly: options.plan }, sink.report] as const;
      if (variant === "ironic")
        return takeNova(run, await openHostClients(options, ...opening), options, { sink, show });
      const allOptions = await legacyOptions(run, options);
      const clients = await openLegacyClients(allOptions, ...opening);
      return takeOverLegacy(run, clients, options, allOptions, { sink, show });
    }),
  );
}

async function takeNova(
  run: RunFolder,
  nova: MoveTarget,
  options: TakeoverOptions,
  { sink, show }: Planning,
): Promise<HostMoved | null> {
  const resumable = await startedPlan(run, nova, options);
  if (resumable !== null) await goOn(run, resumable, options, { sink, show });
  const plan = resumable ?? (await watchedPlan(run, nova, options, { sink, show }));
  if (options.plan) return null;
  const { entries } = await readJournal(run);
  if (resumable !== null && isThrough(plan, entries)) {
    sink.report(
      `No machine of ${options.from} is left. verify shows the hosts that serve its machines now.`,
    );
    const found = await rowsToRestore([plan], entries, { all: false, selects: () => true });
    const { manifest } = plan;
    return { manifest, blocked: 0, fenced: 0, made: 0, found, skipped: [], stopped: false };
  }
  // A host is fenced only if machines can be moved.
  await checkMovable(plan);
  await checkWindow(run, "host takeover");
  await saveOptions(run, "host", options);
  const { counts, to } = plan.manifest;
  await askDown(options, { machines: counts.verdicts.move, to: to.join(", ") }, nova, sink);
  return performMoves(run, nova, plan, sink, (session) =>
    runFence(options, plan.sha256, session, sink),
  );
}

/** Null if the host must be watched again. */
async function startedPlan(
  run: RunFolder,
  nova: MoveTarget,
  { from }: TakeoverOptions,
): Promise<MovePlan | null> {
  const plan = await orNull(presentMoves(run), "N2I-E110");
  if (plan === null) return null;
  const { entries } = await readJournal(run);
  const last = entries.findLast((entry) => "part" in entry && HOST_PARTS.includes(entry.part));
  const isStarted = plansOf(entries, ...HOST_PARTS).includes(plan.sha256);
  const { mode, from: oldHosts } = plan.manifest;
  const isOwned = mode === "takeover" && oldHosts.some(({ host }) => host === from);
  if (!isStarted || !isOwned) return null;
  if ((await rowsToRestore([plan], entries)) === 0) return null;
  const isUndoing = last?.do === "undo" || last?.do === "undone";
  if (!isUndoing && !isThrough(plan, entries)) return plan;
  // Remaining or restored machines are planned again. Otherwise the plan is kept.
  const machines = await openMachines(nova.database);
  for await (const nodes of machines.owned(from)) if (nodes.length > 0) return null;
  return plan;
}

/** @throws MigrationError N2I-E100 if options differ from the started plan */
async function goOn(
  run: RunFolder,
  plan: MovePlan,
  options: TakeoverOptions,
  { sink, show }: Planning,
): Promise<void> {
  const { manifest } = plan;
  const { to, service_down_time: down, made_at } = manifest;
  const [hosts, seconds] = [hostsIn(options), await configuredDownTime(options)];
  const other =
    hosts.toSorted().join() === to.toSorted().join()
      ? seconds !== null && seconds !== down && `a service_down_time of ${down} s, not ${seconds} s`
      : `--to ${to.join(",")}, not ${hosts.join(",")}`;
  if (other !== false)
    throw new MigrationError("N2I-E100", `this takeover was started with ${other}`, {
      fix: `Use the same options, or roll back first: nova2ironic rollback --run ${run.path} --all`,
    });
  const { sha256: site } = await siteOf(options.site);
  const later = [
    ...((manifest.site ?? null) === site ? [] : ["--site"]),
    ...((manifest.force_aggregates ?? false) === (options.forceAggregates ?? false)
      ? []
      : ["--force-aggregates"]),
  ];
  const rest =
    later.length === 0
      ? ""
      : `. ${later.join(" and ")} ${later.length > 1 ? "are" : "is"} used after it is finished`;
  sink.report(`Resuming the plan of ${made_at}${rest}.`);
  if (options.plan) await show(plan);
}

/** @throws MigrationError N2I-E317 if no machine can be moved, N2I-E315 for a takeover plan */
export function moveHosts(
  variant: MoveTarget["variant"],
  options: LegacyInputs & { readonly run: string },
  sink: Sink,
): Promise<HostMoved> {
  return inRun(options.run, "host move", { kind: "takeover", variant }, (run) =>
    closing(async (keep) => {
      const plan = await presentMoves(run);
      checkMode(run, plan, variant);
      await checkMovable(plan);
      await checkWindow(run, "host move");
      // The move needs the plan's options for boot files.
      const allOptions = variant === "baremetal" ? await legacyOptions(run, options) : options;
      const target = await openTarget(variant, allOptions, keep, { readOnly: false }, sink.report);
      await saveOptions(run, "host", allOptions);
      await sink.confirm(target.question(plan.manifest));
      return target.move(run, plan, sink);
    }),
  );
}

/** @throws MigrationError N2I-E315 for the plan of a takeover, or for the other kind of machines */
function checkMode(
  { path }: RunFolder,
  { manifest: { mode, nova_bm } }: MovePlan,
  variant: MoveTarget["variant"],
): void {
  if (variant === "baremetal" && nova_bm === undefined)
    throw new MigrationError("N2I-E315", `${path} moves machines of Ironic`, {
      fix: "Omit --nova-bm-db, or create a new plan with host plan.",
    });
  if (mode === "move") return;
  // The host was neither watched nor confirmed as down.
  const by =
    nova_bm === undefined ? "Resume with host takeover" : "Its agent or host takeover resumes it";
  throw new MigrationError("N2I-E315", `${path} takes over a dead host`, {
    fix: `${by}, or create a new plan with host plan.`,
  });
}
