import { MigrationError, orNull } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import type { SkippedRow } from "../model/change.ts";
import { type Entries, plansOf } from "../model/journal.ts";
import { HOST_PARTS } from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { runFence } from "../run/fence-command.ts";
import { readJournal } from "../run/files/journal.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { now, rest } from "../run/process-context.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { busyInstances, openMachines } from "../systems/nova-db/machines.ts";
import { type LegacyClients, savedOptions } from "./baremetal/legacy-clients.ts";
import { fenceByHand } from "./baremetal/legacy-fence.ts";
import { checkAny, withLegacy } from "./baremetal/legacy-moves.ts";
import { legacyMoved, performLegacy, reportMoved, takeMachines } from "./baremetal/legacy-take.ts";
import { movedMachines } from "./baremetal/steps/legacy-started.ts";
import { isThrough, performMoves } from "./host-moves.ts";
import { checkMovable, hostsIn, makeMoves, siteOf } from "./host-plan.ts";
import { configuredDownTime, downTime, watchHost } from "./host-watch.ts";
import { readLeases } from "./leases/leases.ts";
import { openTarget } from "./open-target.ts";
import { EVERYTHING, rowsToRestore } from "./steps/host-move.ts";
import type { HostMoved, HostOptions, MoveTarget } from "./target.ts";

interface TakeoverOptions extends HostOptions {
  readonly run: string;
  readonly from: string;
  readonly fenceCommand?: string;
  readonly confirmedDown: boolean;
  readonly yes?: boolean;
  readonly settle?: number;
  readonly plan: boolean;
}

interface Planning {
  readonly sink: Sink;
  readonly show: (made: MovePlan) => Promise<void>;
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
      const saved = await savedOptions(variant, run, options, { files: true });
      const how = { readOnly: options.plan };
      const target = await openTarget(variant, saved, keep, how, sink.report);
      return target.variant === "ironic"
        ? takeNova(run, target, options, { sink, show })
        : takeLegacy(run, target, options, saved, { sink, show });
    }),
  );
}

async function takeNova(
  run: RunFolder,
  nova: MoveTarget,
  options: TakeoverOptions,
  planning: Planning,
): Promise<HostMoved | null> {
  const { sink } = planning;
  const resumable = await startedPlan(run, nova, options, planning);
  const plan =
    resumable ??
    (await watchedPlan(run, nova, options, await watchDead(nova, options, sink), planning));
  if (options.plan) return null;
  const { entries } = await readJournal(run);
  if (resumable !== null && isThrough(plan, entries)) {
    sink.report(
      `No machine of ${options.from} is left. verify shows the hosts that serve its machines now.`,
    );
    const found = await rowsToRestore([plan], entries, { ...EVERYTHING, all: false });
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

/**
 * Null if the host must be watched again.
 *
 * @throws MigrationError N2I-E100 if options differ from the started plan
 */
async function startedPlan(
  run: RunFolder,
  nova: MoveTarget,
  options: TakeoverOptions,
  { sink, show }: Planning,
): Promise<MovePlan | null> {
  const plan = await orNull(presentMoves(run), "N2I-E110");
  if (plan === null) return null;
  const { entries } = await readJournal(run);
  const { mode, from, to, made_at, service_down_time: down } = plan.manifest;
  const isStarted = plansOf(entries, ...HOST_PARTS).includes(plan.sha256);
  const isOwned = mode === "takeover" && from.some(({ host }) => host === options.from);
  if (!isStarted || !isOwned || (await rowsToRestore([plan], entries)) === 0) return null;
  const last = entries.findLast((entry) => "part" in entry && HOST_PARTS.includes(entry.part));
  if (last?.do === "undo" || last?.do === "undone" || isThrough(plan, entries)) {
    // Remaining or restored machines are planned again. Otherwise the plan is kept.
    const machines = await openMachines(nova.database);
    for await (const nodes of machines.owned(options.from)) if (nodes.length > 0) return null;
  }
  const [hosts, seconds] = [hostsIn(options), await configuredDownTime(options)];
  if (hosts.toSorted().join() !== to.toSorted().join())
    throw startedWith(`--to ${to.join(",")}, not ${hosts.join(",")}`, run);
  if (seconds !== null && seconds !== down)
    throw startedWith(`a service_down_time of ${down} s, not ${seconds} s`, run);
  const { sha256 } = await siteOf(options.site);
  const { site = null, force_aggregates: forced = false } = plan.manifest;
  const later = [
    ...(site === sha256 ? [] : ["--site"]),
    ...(forced === (options.forceAggregates ?? false) ? [] : ["--force-aggregates"]),
  ];
  const verb = later.length > 1 ? "are" : "is";
  const rest =
    later.length === 0 ? "" : `. ${later.join(" and ")} ${verb} used after it is finished`;
  sink.report(`Resuming the plan of ${made_at}${rest}.`);
  if (options.plan) await show(plan);
  return plan;
}

function startedWith(other: string, { path }: RunFolder): MigrationError {
  return new MigrationError("N2I-E100", `this takeover was started with ${other}`, {
    fix: `Use the same options, or roll back first: nova2ironic rollback --run ${path} --all`,
  });
}

/**
 * As an agent: watches the host, fences its lease, then moves its machines.
 *
 * @param saved also those of earlier commands
 */
async function takeLegacy(
  run: RunFolder,
  clients: LegacyClients,
  options: TakeoverOptions,
  saved: HostOptions,
  { sink, show }: Planning,
): Promise<HostMoved | null> {
  const { from } = options;
  const [to = ""] = hostsIn(options);
  const watched = await watchDead(clients, options, sink);
  await checkWindow(run, "host takeover");
  const resumed = options.plan ? null : await resumeLegacy(run, clients, options, to, sink);
  const plan = await watchedPlan(run, clients, options, watched, { sink, show });
  if (options.plan) return null;
  const { moved: before, skipped: reasons } = resumed ?? { moved: 0, skipped: [] };
  const { entries } = await readJournal(run);
  const half = await halfMoved(plan, entries, reasons);
  const taken = movedMachines(entries).filter(({ move }) => move.from === from).length;
  const { machines, verdicts } = plan.manifest.counts;
  if (machines === 0 && taken > 0) {
    if (resumed === null) await askDown(options, { machines: 0, to }, clients, sink);
    const found = taken - before - half.length;
    const all = { made: before, found, skipped: half, locked: 0, stopped: false };
    return legacyMoved(plan, 0, all);
  }
  await checkMovable(plan);
  await saveOptions(run, "host", saved);
  await askDown(options, { machines: verdicts.move, to }, clients, sink);
  const fenced = await withLegacy(run, clients, [plan], { hosts: [from] }, async ({ session }) => {
    await runFence(options, plan.sha256, session, sink);
    return fenceByHand(session, clients, from);
  });
  const [lease] = await readLeases(clients.leases, from);
  const { onMoved } = reportMoved(clients, sink.result);
  const moved = await performLegacy(run, clients, plan, sink, { silent: lease?.ttl, onMoved });
  checkAny(moved);
  const skipped = [...half, ...moved.skipped];
  return legacyMoved(plan, fenced, { ...moved, skipped, made: moved.made + before });
}

/** Claimed machines with an unfinished move, which a plan of the old host no longer contains. */
async function halfMoved({ lines }: MovePlan, entries: Entries, skipped: readonly SkippedRow[]) {
  const planned = new Set<string>();
  for await (const batch of lines()) for (const { uuid } of batch) planned.add(uuid);
  return movedMachines(entries, { unfinished: true })
    .filter(({ id }) => !planned.has(id))
    .map(({ id: uuid }) => {
      const id = `machine:${uuid}`;
      return skipped.find((one) => one.id === id) ?? { id, reason: "its move is unfinished" };
    });
}

/**
 * Unclaimed machines are planned again. Null if there was nothing to resume.
 *
 * @throws MigrationError N2I-E100 if moves to another host were started, because that host creates
 * their boot files
 */
async function resumeLegacy(
  run: RunFolder,
  clients: LegacyClients,
  options: TakeoverOptions,
  to: string,
  sink: Sink,
) {
  const open = movedMachines((await readJournal(run)).entries, { unfinished: true });
  if (open.length === 0) return null;
  const mismatch = open.find(({ move }) => move.to !== to || move.from !== options.from);
  if (mismatch !== undefined)
    throw startedWith(`--from ${mismatch.move.from} --to ${mismatch.move.to}`, run);
  await askDown(options, { machines: open.length, to }, clients, sink);
  const request = { from: options.from, to, nodes: [], down: await downTime(options) };
  const resumed = await takeMachines(run, clients, request, sink);
  if (resumed.stopped) throw new MigrationError("N2I-E301", "stopped while it resumed");
  for (const { id, reason } of resumed.skipped) sink.report(`${id}: ${reason}.`);
  return resumed;
}

/** Call this before the plan is made, because the fence compares the observed report_count. */
async function watchDead(target: MoveTarget, options: TakeoverOptions, sink: Sink) {
  const { from, settle = 0 } = options;
  const watched = await watchHost(target, from, await downTime(options), sink);
  // The API, the scheduler or a conductor may still finish requests for a dead host.
  const end = now() + settle * 1000;
  for (let reported = false; now() < end; reported = true) {
    const busy = await busyInstances(target.database, from);
    if (busy === 0) break;
    const instances = `${counted(busy, "instance")} of ${from} with a task in progress`;
    if (!reported) sink.report(`Waiting at most ${settle} s: ${instances}.`);
    await rest(PACE);
  }
  return watched;
}

/** Milliseconds between two reads. */
const PACE = 500;

/** @param watched by `watchDead` @throws MigrationError N2I-E316 */
async function watchedPlan(
  run: RunFolder,
  target: MoveTarget,
  options: TakeoverOptions,
  watched: Awaited<ReturnType<typeof watchDead>>,
  { sink, show }: Planning,
): Promise<MovePlan> {
  const made = await makeMoves(run, target, "takeover", options, sink);
  for (const { id, host, report_count, last_seen_up } of made.manifest.from)
    if (id !== null && (watched?.id !== id || hasReported(watched, { report_count, last_seen_up })))
      throw new MigrationError("N2I-E316", `nova-compute of ${host} reported after it was watched`);
  await show(made);
  return made;
}

/** Confirmation in addition to Nova's row: by the operator, or by the site's fence. */
async function askDown(
  { from, confirmedDown, fenceCommand, yes = false }: TakeoverOptions,
  { machines, to }: { readonly machines: number; readonly to: string },
  { database }: MoveTarget,
  { confirm }: Sink,
): Promise<void> {
  if (confirmedDown) return;
  const what = `Move ${counted(machines, "machine")} to ${to} in ${database.label}?`;
  if (fenceCommand !== undefined) return confirm(what);
  if (yes)
    throw new MigrationError("N2I-E303", `--yes does not confirm that ${from} is down`, {
      fix: "Pass --confirmed-down, or the site's fencing program with --fence-command.",
    });
  await confirm(`Is ${from} down, and does its nova-compute stay down? ${what}`);
}
