import { besideMachines, type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { UndoPreview } from "../../model/preview.ts";
import { closing } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { checkNotFinished, endOfRun } from "../../run/finished.ts";
import { nextCommand } from "../../run/next.ts";
import { inRun, openPlan } from "../../run/run.ts";
import { checkScope, namedIn } from "../../run/scope.ts";
import { withSession } from "../../run/session.ts";
import type { Sink } from "../../run/sink.ts";
import { stagedTrees } from "../boot/boot-steps.ts";
import type { Reach } from "../flavors/flavor-api.ts";
import { checkStill, type Leaving, leavingOf, withStill } from "../hosts/exclusions.ts";
import { type Backing, novaStepsBack, type Wanted } from "../hosts/nova-back.ts";
import { novaPlans } from "../hosts/nova-files.ts";
import type { Watching } from "../hosts/nova-watch.ts";
import { type Backend, openBackend, type TargetOptions } from "../open/backend.ts";
import { loadMappings } from "../open/documents.ts";
import { STOPPED } from "../order.ts";
import { isThere } from "../plan/loaded-plans.ts";
import { slowDelete } from "../plan/rules/delete-cost.ts";
import { previewBack, takeBack } from "./take-back.ts";

/** What a rollback is given. */
export interface RollbackWords extends TargetOptions, Reach {
  readonly run: string;
  readonly leaveNova: boolean;
  readonly all: boolean;
  readonly node?: readonly string[];
  readonly afterFinish: boolean;
  readonly keyFile?: string;
}

/** What there is to take back, and from where. */
interface Job extends Wanted {
  readonly leaving: Leaving;
  /** Rows of Nova are to be taken back, and nothing says where it is. */
  readonly untold: boolean;
}

/** What became of a rollback. */
interface Ended {
  /** Of what stays, as nobody asked for it. */
  readonly notes: readonly string[];
  readonly untold: boolean;
}

/**
 * Takes back what the run loaded, in the order of `pipeline.ts`.
 *
 * @param leave hears of rows that stay as they are
 * @returns null when there was nothing to take back, or it was stopped on request
 */
export function rollback(
  words: RollbackWords,
  watching: Watching,
  sink: Sink,
  leave: Backing["leave"],
): Promise<Ended | null> {
  return withJob(words, { preview: false }, sink, async (job) => {
    const { run, nova, backend, leaving, untold } = job;
    const named = words.all ? "everything" : `${words.node?.length} machines`;
    const { entries } = await readJournal(run);
    const wasFinished = [...besideMachines(entries)].some((entry) => entry.do === "close");
    const restore = wasFinished ? " If you dropped nova_bm, restore its dump first." : "";
    await sink.confirm(`Remove ${named} of this run from ${backend?.shown ?? "nova"}?${restore}`);
    const ended = await withStill(words.novaDb, leaving, nova?.plans ?? [], watching, (inspect) =>
      withSession(run, (session) =>
        takeBack(job, { session, inspect, leave, sink }, { ...watching, seconds: 0 }),
      ),
    );
    if (ended !== true) {
      sink.say(STOPPED);
      return null;
    }
    const still =
      "Rows of nova that this run changed are as they are; --nova-db takes them back too.";
    return { notes: [...(untold ? [still] : []), ...(await treesOf(run, words))], untold };
  });
}

/** Shows what the same words would take back; writes nothing. */
export async function previewRollback(words: RollbackWords, sink: Sink): Promise<void> {
  const shown = await withJob(words, { preview: true }, sink, async (job) => {
    let nodes = 0;
    const counts = { remove: 0, restore: 0, leave: 0 };
    const rows = async function* (): AsyncGenerator<UndoPreview> {
      for await (const row of previewBack(job)) {
        counts[row.action] += 1;
        if (row.action === "remove" && row.resource === "node") nodes += 1;
        yield row;
      }
    };
    await sink.list("undos", rows());
    const { remove, restore, leave } = counts;
    sink.result(`Rollback would remove ${remove} rows, restore ${restore} and leave ${leave}.`);
    const keys = (nodes === 0 ? null : await job.backend?.scannedKeys?.()) ?? [];
    const slow = slowDelete(nodes, keys);
    if (slow !== null) sink.note(`${slow.what} With an index it takes seconds: ${slow.fix}`);
    const end = words.afterFinish ? null : await endOfRun(job.run);
    // What is shown is refused until somebody says that it is meant.
    if (end !== null)
      sink.note(
        `finish ended this run at ${end.at}; without --plan this is refused unless you give --after-finish (N2I-E321).`,
      );
    if (job.untold)
      sink.result("Rows of nova would stay as they are; --nova-db takes them back too.");
    return true;
  });
  // An empty list, where programs read it.
  if (shown === null) await sink.list("undos", (async function* () {})());
}

/** @returns null when the run has loaded nothing */
async function withJob<T>(
  words: RollbackWords,
  access: { readonly preview: boolean },
  sink: Sink,
  work: (job: Job) => Promise<T>,
): Promise<T | null> {
  const { all, node = [] } = words;
  checkScope(all, node);
  return inRun(words.run, "rollback", { create: false }, async (run) => {
    if (!access.preview)
      await checkNotFinished(run, "rollback would take its machines from Nova", words);
    const { entries } = await readJournal(run);
    const plans = await plansAt(run, entries);
    const never = "was never loaded by this run";
    const { wants, uuids } = await namedIn(node, () => linesIn(run, plans), never);
    const changed = plansOf(entries, ...NOVA_NAMES).length > 0;
    if (plans.length === 0 && !changed) {
      sink.result("Rollback: this run has loaded nothing.");
      return null;
    }
    const scope = { all, wants };
    const wanted = {
      ...{ all, machines: wants, plans: changed ? await novaPlans(run) : [] },
      wants: ({ machine }: { readonly machine: string | null }) => all || uuids.has(machine ?? ""),
    };
    const untold = (await novaStepsBack(wanted, entries, words)) > 0 && words.novaDb === undefined;
    const leaving = await leavingOf(run, plans, entries, scope, words);
    if (!access.preview) {
      await checkWindow(run, "rollback");
      checkStill(leaving, words);
    }
    const there = plans.some((sha256) => isThere(entries, sha256));
    const optional = changed && words.novaDb !== undefined && !there;
    const nova = changed ? wanted : null;
    return closing(async (keep) => {
      const backend = await backendOf(words, access, optional, sink);
      if (backend !== null) keep(backend);
      const wanted = { run, entries, plans, scope, nova, backend, reach: words };
      return work({ ...wanted, leaving, untold });
    });
  });
}

/** The run's plans, newest first; one of which nothing is left in Ironic is not missed. */
async function plansAt(run: RunFolder, entries: Entries): Promise<readonly string[]> {
  const plans: string[] = [];
  for (const sha256 of plansOf(entries, IRONIC)) {
    const found = () => findPlan(run, sha256).catch(() => null);
    if (isThere(entries, sha256) || (await found()) !== null) plans.push(sha256);
  }
  return plans;
}

async function* linesIn(
  run: RunFolder,
  plans: readonly string[],
): AsyncGenerator<readonly PlannedMachine[]> {
  for (const sha256 of plans) yield* (await openPlan(await findPlan(run, sha256))).lines();
}

/**
 * Only a preview may do without Ironic, and says so.
 *
 * @param optional Nova's rows alone are left to take back, whether or not there still is an Ironic
 */
async function backendOf(
  words: RollbackWords,
  { preview }: { readonly preview: boolean },
  optional: boolean,
  { say, note }: Sink,
): Promise<Backend | null> {
  const { ironicDb, ironicUrl, osCloud, via } = words;
  if (preview && ironicDb === undefined && ironicUrl === undefined && !osCloud && via !== "rest") {
    note(
      "Ironic is not asked, as nothing says where it is: a machine that somebody changed there would stay, and its rows of nova with it.",
    );
    return null;
  }
  const mappings = await loadMappings();
  return openBackend(words, mappings, { readOnly: preview }, say).catch((cause: unknown) => {
    if (!optional) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    say(`Nothing of this run is left in Ironic, which is not asked: ${why}`);
    return null;
  });
}

/** Boot files are on each conductor's host, and taken back there: a rollback names the command. */
async function treesOf(run: RunFolder, { keyFile }: RollbackWords): Promise<readonly string[]> {
  const { entries } = await readJournal(run);
  const undo = (tftpRoot: string): string =>
    nextCommand("boot", { run: run.path, tftpRoot, keyFile }, { undo: true });
  return [...stagedTrees(entries)].flatMap(([tree, machines]) =>
    machines === 0
      ? []
      : [`Boot files of ${machines} machines stay in ${tree}: ${undo(tree)} takes them back.`],
  );
}
