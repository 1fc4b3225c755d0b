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
import { checkExclusions, leavingOf, withExclusions } from "../hosts/exclusions.ts";
import { novaStepsBack } from "../hosts/nova-back.ts";
import { novaPlans } from "../hosts/nova-files.ts";
import type { Watching } from "../hosts/nova-watch.ts";
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
export function migrationBack(words: RollbackCommandOptions, watching: Watching): Rollback {
  return rollbackOf({ kind: "migration" }, words, (sink, preview) => ({
    nothing: "this run has not loaded any machine",
    async find(run, entries) {
      if (!preview)
        await checkNotFinished(run, "rollback would remove its machines from Nova", words);
      return found(run, entries, words);
    },
    async open(job, keep) {
      if (!preview) checkExclusions(job.leaving, words);
      const there = job.plans.some((sha256) => isInIronic(job.entries, sha256));
      const optional = job.nova !== null && words.novaDb !== undefined && !there;
      const backend = await backendOf(words, { preview }, optional, sink);
      if (backend !== null) keep(backend);
      return { ...job, backend, reach: words };
    },
    question({ entries, backend }) {
      const named = words.all ? "everything" : counted(words.node?.length ?? 0, "machine");
      const wasFinished = [...runEntries(entries)].some((entry) => entry.do === "close");
      const restore = wasFinished ? " If you dropped nova_bm, restore its dump first." : "";
      return `Remove ${named} of this run from ${backend?.shown ?? "nova"}?${restore}`;
    },
    async back(job, leave) {
      const { run, nova, leaving, untold } = job;
      const ended = await withExclusions(
        words.novaDb,
        leaving,
        nova?.plans ?? [],
        watching,
        (inspect) =>
          withSession(run, (session) =>
            takeBack(job, { session, inspect, leave, sink }, { ...watching, seconds: 0 }),
          ),
      );
      if (ended !== true) {
        sink.say(STOPPED);
        return null;
      }
      const still = "Nova rows of this run are not restored. To roll them back, add --nova-db.";
      return { notes: [...(untold ? [still] : []), ...treesOf(job)], untold };
    },
    previews: previewBack,
    async summary({ run, backend, untold }, { remove, restore, leave, nodes }) {
      sink.result(
        `Rollback would remove ${counted(remove, "row")}, restore ${restore} and leave ${leave}.`,
      );
      const keys = (nodes === 0 ? null : await backend?.scannedKeys?.()) ?? [];
      const slow = slowDelete(nodes, keys);
      if (slow !== null) sink.note(slow.note);
      const end = words.afterFinish ? null : await endOfRun(run);
      // A rollback after finish needs --after-finish.
      if (end !== null)
        sink.note(
          `finish ended this run at ${end.at}. Without --plan, rollback is refused unless you add --after-finish (N2I-E321).`,
        );
      if (untold) sink.result("Nova rows would not be restored. To roll them back, add --nova-db.");
    },
  }));
}

/** The changes to roll back, from the run's files. Null if the run loaded nothing. */
async function found(run: RunFolder, entries: Entries, words: RollbackCommandOptions) {
  const { all, node = [] } = words;
  const plans = await plansAt(run, entries);
  const never = "was never loaded by this run";
  const { wants, uuids } = await machinesByName(node, () => linesIn(run, plans), never);
  const changed = plansOf(entries, ...NOVA_NAMES).length > 0;
  if (plans.length === 0 && !changed) return null;
  const scope = { all, wants };
  const wanted = {
    ...{ all, machines: wants, plans: changed ? await novaPlans(run) : [] },
    wants: ({ machine }: { readonly machine: string | null }) => all || uuids.has(machine ?? ""),
  };
  // Nova rows need a rollback, but its database is missing.
  const untold = (await novaStepsBack(wanted, entries, words)) > 0 && words.novaDb === undefined;
  const leaving = await leavingOf(run, plans, entries, scope, words);
  return { run, entries, plans, scope, nova: changed ? wanted : null, leaving, untold };
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
  words: RollbackCommandOptions,
  { preview }: { readonly preview: boolean },
  optional: boolean,
  { say, note }: Sink,
): Promise<Backend | null> {
  const { ironicDb, ironicUrl, osCloud, via } = words;
  if (preview && ironicDb === undefined && ironicUrl === undefined && !osCloud && via !== "rest") {
    note(
      "Ironic is not read, because its location is missing. Machines that were changed there, and their Nova rows, would stay.",
    );
    return null;
  }
  const mappings = await loadMappings();
  return openBackend(words, mappings, { readOnly: preview }, say).catch((cause: unknown) => {
    if (!optional) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    say(`Ironic has no rows of this run, so it is not opened: ${why}`);
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
