import { MigrationError, orNull } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import { blocks } from "../model/findings.ts";
import { type Entries, plansOf } from "../model/journal.ts";
import { HOST_PARTS } from "../model/nova/host-move.ts";
import { closing } from "../run/databases.ts";
import { runFence } from "../run/fence-command.ts";
import { readJournal } from "../run/files/journal.ts";
import { PLAN } from "../run/files/plan-folder.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, presentMoves } from "../run/host-files.ts";
import { now, rest } from "../run/process-context.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import type { Sink } from "../run/sink.ts";
import { busyInstances } from "../systems/nova-db/machines.ts";
import { type LegacyInputs, legacyOptions } from "./baremetal/legacy-clients.ts";
import { openHostClients } from "./host-clients.ts";
import { type HostMoved, isThrough, performMoves } from "./host-moves.ts";
import {
  type HostPlanOptions,
  hostsIn,
  makeMoves,
  type PlannedMoves,
  siteOf,
} from "./host-plan.ts";
import { configuredDownTime, downTime, watchHost } from "./host-watch.ts";
import { openTarget } from "./open-target.ts";
import { rowsToRestore } from "./steps/host-move.ts";
import type { MoveTarget } from "./target.ts";

export interface TakeoverOptions extends HostPlanOptions {
  readonly from: string;
  readonly fenceCommand?: string;
  readonly confirmedDown: boolean;
  readonly yes?: boolean;
  readonly settle?: number;
  readonly plan: boolean;
}

/** Milliseconds between two reads. */
const PACE = 500;

/**
 * The fence is in the row of the host's heartbeat. The same command resumes.
 *
 * @param show receives the plan before the question
 * @returns null if nothing was done
 * @throws MigrationError N2I-E316 if the host is up
 */
export function takeOver(
  options: TakeoverOptions,
  sink: Sink,
  show: (made: PlannedMoves) => Promise<void>,
): Promise<HostMoved | null> {
  return inRun(
    options.run,
    "host takeover",
    { kind: "takeover", variant: "ironic", create: true },
    (run) =>
      closing(async (keep) => {
        const nova = await openHostClients(options, keep, { readOnly: options.plan }, sink.report);
        const resumable = await startedPlan(run, nova, options);
        if (resumable !== null) await goOn(run, resumable, options, sink, show);
        const plan = resumable ?? (await watchedPlan(run, nova, options, { sink, show }));
        if (options.plan) return null;
        const { entries } = await readJournal(run);
        if (resumable !== null && isThrough(plan, entries)) {
          sink.report(
            `No machine of ${options.from} is left. verify shows the hosts that serve its machines now.`,
          );
          return foundDone(plan, entries);
        }
        // A host is fenced only if machines can be moved.
        await checkMovable(plan);
        await checkWindow(run, "host takeover");
        await saveOptions(run, "host", options);
        const { verdicts } = plan.manifest.counts;
        const machines = { machines: verdicts.move, to: plan.manifest.to.join(", ") };
        await askDown(options, machines, nova, sink);
        return performMoves(run, nova, plan, sink, (session) =>
          runFence(options, plan.sha256, session, sink),
        );
      }),
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
  for await (const nodes of (await nova.machines()).owned(from)) if (nodes.length > 0) return null;
  return plan;
}

async function foundDone(plan: MovePlan, entries: Entries): Promise<HostMoved> {
  const found = await rowsToRestore([plan], entries, { all: false, selects: () => true });
  const hosts = plan.manifest.from.map(({ host }) => host);
  return { fenced: 0, rows: 0, found, blocked: 0, skipped: [], stopped: false, hosts };
}

/** @throws MigrationError N2I-E100 if options differ from the started plan */
async function goOn(
  run: RunFolder,
  plan: MovePlan,
  options: TakeoverOptions,
  { report }: Sink,
  show: (made: PlannedMoves) => Promise<void>,
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
  report(`Resuming the plan of ${made_at}${rest}.`);
  if (options.plan) await show({ ...plan, path: `${run.path}/${PLAN}` });
}

/**
 * Watches the host before the plan, because the fence compares the observed report_count.
 *
 * @param before runs after the watch
 * @throws MigrationError N2I-E316
 */
export async function watchedPlan(
  run: RunFolder,
  nova: MoveTarget,
  options: TakeoverOptions,
  { sink, show, before }: Planning,
): Promise<MovePlan> {
  const watched = await watchHost(nova, options.from, await downTime(options), sink);
  await settle(nova, options, sink);
  await before?.();
  const made = await makeMoves(run, nova, "takeover", options, sink);
  for (const { id, host, report_count, last_seen_up } of made.manifest.from)
    if (id !== null && (watched?.id !== id || hasReported(watched, { report_count, last_seen_up })))
      throw new MigrationError("N2I-E316", `nova-compute of ${host} reported after it was watched`);
  await show(made);
  return made;
}

interface Planning {
  readonly sink: Sink;
  readonly show: (made: PlannedMoves) => Promise<void>;
  readonly before?: () => Promise<void>;
}

/** The API, the scheduler or a conductor may still finish requests for a dead host. */
async function settle(
  { database }: Pick<MoveTarget, "database">,
  { from, settle: seconds = 0 }: TakeoverOptions,
  { report }: Sink,
): Promise<void> {
  const end = now() + seconds * 1000;
  for (let reported = false; now() < end; reported = true) {
    const busy = await busyInstances(database, from);
    if (busy === 0) return;
    if (!reported)
      report(
        `Waiting at most ${seconds} s: ${counted(busy, "instance")} of ${from} with a task in progress.`,
      );
    await rest(PACE);
  }
}

/** Confirmation in addition to Nova's row: by the operator, or by the site's fence. */
export async function askDown(
  { from, confirmedDown, fenceCommand, yes = false }: TakeoverOptions,
  { machines, to }: { readonly machines: number; readonly to: string },
  { database }: Pick<MoveTarget, "database">,
  { confirm }: Pick<Sink, "confirm">,
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

/** @throws MigrationError N2I-E317 with the reasons, N2I-E306 for a plan without machines */
export async function checkMovable({ manifest, lines }: MovePlan): Promise<void> {
  const { counts, from, nova_bm } = manifest;
  const { machines, verdicts } = counts;
  const hosts = from.map(({ host }) => host).join(", ");
  const whose = nova_bm === undefined ? "Ironic" : "nova-baremetal";
  if (machines === 0)
    throw new MigrationError("N2I-E306", `${hosts} has no machine of ${whose}`, {
      fix: "Compare its name with: nova2ironic host list",
    });
  if (verdicts.blocked < machines) return;
  const texts = new Set<string>();
  for await (const batch of lines())
    for (const found of batch.flatMap(({ findings }) => findings))
      if (blocks(found)) texts.add(`${found.message} (${found.code} ${found.place})`);
  throw new MigrationError("N2I-E317", listed([...texts], NAMES, "; "));
}
