import { findPlan } from "../../edge/disk/archive.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { Scope } from "../../engine/back.ts";
import { ownershipOf, wasBegun } from "../../engine/ownership.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { type Entry, IRONIC, plansOf } from "../../model/journal.ts";
import type { NovaStep } from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { NOVA_NAMES } from "../../parts/nova.ts";
import type { FormatOptions } from "../../report/format.ts";
import { gatherLeft } from "../../report/left.ts";
import { type Backend, openBackend } from "../../stages/backend.ts";
import { loadMappings } from "../../stages/documents.ts";
import { checkNotFinished, endOfRun } from "../../stages/finished.ts";
import { novaStepsBack } from "../../stages/nova-preview.ts";
import { STOPPED, takeBack } from "../../stages/rollback.ts";
import { type Preview, preview } from "../../stages/rollback-preview.ts";
import { inRun } from "../../stages/run.ts";
import { withSession } from "../../stages/session.ts";
import { checkStill, leavingOf, withStill } from "../../stages/still.ts";
import { confirm } from "../confirm.ts";
import { io } from "../io.ts";
import type { RollbackArgs } from "../options/rollback.ts";
import { printView } from "../print/view.ts";
import { watchingOf } from "./nova-options.ts";
import { checkNames, tellTrees } from "./rollback-names.ts";
import { exitWith, note, say, sinkOf, told } from "./shared.ts";

/** @throws MigrationError N2I-E305 when neither or both of --all and --node say what to undo */
function scopeOf({ all, node = [] }: RollbackArgs): Scope<PlannedMachine> {
  if (all === node.length > 0)
    throw new MigrationError(
      "N2I-E305",
      all ? "--all and --node exclude each other" : "nothing says what to undo",
    );
  const wanted = new Set(node.map((text) => text.toLowerCase()));
  const wants: Scope<PlannedMachine>["wants"] = ({ uuid, bm_node_id }) =>
    all || wanted.has(uuid?.toLowerCase() ?? "") || wanted.has(String(bm_node_id));
  return { all, wants };
}

export async function rollbackCommand(args: RollbackArgs): Promise<void> {
  const wanted = scopeOf(args);
  const tell = (text: string): void => say(args, text);
  const watching = watchingOf(args, tell);
  const left = gatherLeft(args.plan ? { ...args, column: [], sortColumn: [] } : args);
  await inRun(args.run, "rollback", { create: false }, async (run) => {
    await checkNotFinished(run, "rollback would take its machines from Nova", args);
    const { entries } = await readJournal(run);
    const plans = await plansAt(run, entries);
    const { named, machines } = await checkNames(run, plans, args);
    const nova = {
      ...{ all: args.all, machines: wanted.wants },
      wants: ({ machine }: NovaStep) => args.all || machines.has(machine ?? ""),
    };
    const changed = plansOf(entries, ...NOVA_NAMES).length > 0;
    if (plans.length === 0 && !changed) {
      told(args, "Rollback: this run has loaded nothing.");
      return args.plan ? printNone(args) : printView(left.view(), args);
    }
    const untold = (await novaStepsBack(run, args, nova)) > 0 && args.novaDb === undefined;
    const leaving = await leavingOf(run, plans, entries, wanted);
    if (!args.plan) checkStill(leaving, args);
    const kept = (sha256: string): boolean => isThere(entries, sha256);
    const optional = changed && args.novaDb !== undefined && !plans.some(kept);
    const backend = await backendOf(args, tell, optional);
    const all = { plans, scope: wanted, nova: changed ? nova : null };
    try {
      if (args.plan) {
        await printPreview(preview(run, backend, all, entries, args), args);
        await noteFinished(run, args);
        if (untold)
          told(args, "Rows of nova would stay as they are; --nova-db takes them back too.");
        return;
      }
      const backing = {
        ...{ run, scope: wanted, leave: left.add, sink: sinkOf(args), keyFile: args.keyFile },
      };
      const place = backend === null ? "nova" : backend.shown;
      await confirm(`Remove ${named} of this run from ${place}?`, args.yes);
      const ended = await withStill(run, args.novaDb, leaving, watching, (look) =>
        withSession(run, (session) =>
          takeBack({ ...backing, session, look }, backend, all, { ...watching, seconds: 0 }, args),
        ),
      ).catch(async (cause: unknown) => {
        // What is known by then is told all the same.
        if (left.any()) await printView(left.view(), args);
        throw cause;
      });
      if (ended === null) say(args, STOPPED);
      await printView(left.view(), args);
      if (ended !== true) return;
      if (untold)
        told(
          args,
          "Rows of nova that this run changed are as they are; --nova-db takes them back too.",
        );
      await tellTrees(run, args);
      if (left.any() || untold) exitWith(EXIT_STATUS.differs.status);
    } finally {
      await backend?.close();
    }
  });
}

const COLUMNS = ["Action", "Resource", "UUID", "BM ID", "Why"];

/** An empty list, where programs read it. */
async function printNone(args: FormatOptions): Promise<void> {
  if (args.format !== "table") await printView({ columns: COLUMNS, rows: [] }, args);
}

async function printPreview({ rows, cost }: Preview, args: FormatOptions): Promise<void> {
  await printView({ columns: COLUMNS, rows }, args);
  const text = await cost();
  if (text !== null) io().stderr.write(`${text}\n`);
}

/** What is shown is refused until somebody says that it is meant. */
async function noteFinished(run: RunFolder, args: RollbackArgs): Promise<void> {
  const end = args.afterFinish ? null : await endOfRun(run);
  if (end !== null)
    note(
      args,
      `finish ended this run at ${end.at}; without --plan this is refused unless you give --after-finish (N2I-E321).`,
    );
}

/**
 * Only a preview may do without Ironic, and says so.
 *
 * @param optional Nova's rows alone are left to take back, whether or not there still is an Ironic
 */
async function backendOf(
  args: RollbackArgs,
  tell: (text: string) => void,
  optional: boolean,
): Promise<Backend | null> {
  const { plan, ironicDb, ironicUrl, osCloud, via } = args;
  if (plan && ironicDb === undefined && ironicUrl === undefined && !osCloud && via !== "rest") {
    note(
      args,
      "Ironic is not asked, as nothing says where it is: a machine that somebody changed there would stay, and its rows of nova with it.",
    );
    return null;
  }
  const mappings = await loadMappings();
  return openBackend(args, mappings, { readOnly: plan }, tell).catch((cause: unknown) => {
    if (!optional) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    tell(`Nothing of this run is left in Ironic, which is not asked: ${why}`);
    return null;
  });
}

/** Whether something a plan loaded is in Ironic still, by the journal. */
function isThere(entries: readonly Entry[], sha256: string): boolean {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  return ownership.begun.some((span) => wasBegun(ownership, span));
}

/** The run's plans, newest first; one of which nothing is left in Ironic is not missed. */
async function plansAt(run: RunFolder, entries: readonly Entry[]): Promise<readonly string[]> {
  const plans: string[] = [];
  for (const sha256 of plansOf(entries, IRONIC)) {
    const there = () =>
      findPlan(run, sha256).then(
        () => true,
        () => false,
      );
    if (isThere(entries, sha256) || (await there())) plans.push(sha256);
  }
  return plans;
}
