import { counted } from "../../lib/text.ts";
import { type Entries, IRONIC, plansOf, runEntries } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkNotFinished, endOfRun } from "../../run/finished.ts";
import { nextCommand } from "../../run/next.ts";
import { type Rollback, type RollbackOptions, rollbackOf } from "../../run/rollback.ts";
import { openPlan } from "../../run/run.ts";
import { machinesByName } from "../../run/scope.ts";
import { withSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { stagedTrees } from "../boot/boot-steps.ts";
import type { ConnectionOptions } from "../flavors/flavor-api.ts";
import { checkExclusions, removalOf } from "../hosts/exclusions.ts";
import { novaStepsBack } from "../hosts/nova-back.ts";
import { novaPlans } from "../hosts/nova-files.ts";
import type { Watching } from "../hosts/nova-target.ts";
import { type Backend, openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { STOPPED } from "../order.ts";
import { isInIronic } from "../plan/loaded-plans.ts";
import { slowDelete } from "../plan/rules/delete-cost.ts";
import { previewBack, takeBack } from "./take-back.ts";

export interface RollbackCommandOptions extends TargetOptions, ConnectionOptions, RollbackOptions {
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
      const backend = await backendOf(options, { preview }, optional, sink);
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
      if (!ended) {
        sink.report(STOPPED);
        return null;
      }
      const note = "Nova rows of this run are not restored. To roll them back, add --nova-db.";
      return { notes: [...(noNova ? [note] : []), ...treesOf(job)], noNova };
    },
    previews: previewBack,
    async summary({ run, backend, noNova }, { remove, restore, leave: skipped, nodes }) {
      sink.result(
        `Rollback would remove ${counted(remove, "row")}, restore ${restore} and leave ${skipped}.`,
      );
      const keys = (nodes === 0 ? null : await backend?.scannedKeys?.()) ?? [];
      const slow = slowDelete(nodes, keys);
      if (slow !== null) sink.note(slow.note);
      const end = options.afterFinish ? null : await endOfRun(run);
      // A rollback after finish needs --after-finish.
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
  const { selects, uuids } = await machinesByName(node, () => linesIn(run, plans), never);
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
  for (const sha256 of plansOf(entries, IRONIC)) {
    const found = () => findPlan(run, sha256).catch(() => null);
    if (isInIronic(entries, sha256) || (await found()) !== null) plans.push(sha256);
  }
  return plans;
}

async function* linesIn(
  run: RunFolder,
  plans: readonly string[],
): AsyncGenerator<readonly PlannedMachine[]> {
  for (const sha256 of plans) yield* (await openPlan(await findPlan(run, sha256))).lines();
}

/** Only a preview may run without Ironic. @param optional only Nova's rows remain */
async function backendOf(
  options: RollbackCommandOptions,
  { preview }: { readonly preview: boolean },
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    report(`Ironic has no rows of this run, so it is not opened: ${reason}`);
    return null;
  });
}

/** Rollback only prints the command, because boot files are on each conductor's host. */
function treesOf({ run, entries }: { readonly run: RunFolder; readonly entries: Entries }) {
  const undo = (tftpRoot: string): string =>
    nextCommand("boot", { run: run.path }, { tftpRoot, undo: true });
  return [...stagedTrees(entries)].flatMap(([tree, machines]) =>
    machines === 0
      ? []
      : [
          `Boot files of ${counted(machines, "machine stays", "machines stay")} in ${tree}. To remove them: ${undo(tree)}`,
        ],
  );
}
