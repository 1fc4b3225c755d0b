import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { begunIn } from "../../engine/begun.ts";
import { ownershipOf } from "../../engine/ownership.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { FINISH } from "../../model/finish.ts";
import { type Entry, IRONIC, plansOf } from "../../model/journal.ts";
import { runNodes } from "../../parts/run-nodes.ts";
import { standingsView } from "../../report/standings.ts";
import { type Backend, openBackend } from "../../stages/backend.ts";
import { loadMappings } from "../../stages/documents.ts";
import { linesOf, plansOfRun, plansThere } from "../../stages/finish-plans.ts";
import { endOfRun, knowsGuards } from "../../stages/finished.ts";
import { type Finished, finish, unfinish, withFinishing } from "../../stages/finishing.ts";
import { wantedOf } from "../../stages/named.ts";
import { nextCommand } from "../../stages/next.ts";
import { inRun, openPlan, PLAN } from "../../stages/run.ts";
import type { RunSession } from "../../stages/session.ts";
import { confirm } from "../confirm.ts";
import type { FinishArgs } from "../options/finish.ts";
import { printView } from "../print/view.ts";
import { previewFinish } from "./finish-plan.ts";
import { exitWith, inStage, say, told } from "./shared.ts";

export async function finishCommand(args: FinishArgs): Promise<void> {
  await inRun(args.run, "finish", { create: false }, async (run) => {
    const { entries } = await readJournal(run);
    checkLoaded(run, entries, args);
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { sha256 } = plan.footer;
    const plans = await plansOfRun(run, plan, entries);
    const wanted = await wantedOf(args.node ?? [], () => linesOf(plans));
    const nodes = () => runNodes(plans, entries, wanted);
    const open = ownershipOf(entries, IRONIC, sha256).open.length;
    const mappings = await loadMappings();
    const backend = await openBackend(args, mappings, { readOnly: args.plan }, (text) =>
      say(args, text),
    );
    try {
      if (args.plan) return await previewFinish(run, backend, plan.header, nodes(), args);
      await confirm(question(args, backend), args.yes);
      await act(run, backend, plan, { nodes, open }, args);
    } finally {
      await backend.close();
    }
  });
}

function question({ node, undo }: FinishArgs, { shown }: Backend): string {
  const which = node === undefined ? "the machines of this run" : node.join(", ");
  return undo
    ? `Protect ${which} in ${shown} again?`
    : `Clear the protection of ${which} in ${shown}? Nova may delete and rebuild them from then on.`;
}

/**
 * What is not loaded has no window to end; what finish cleared of it may be guarded again all the same.
 *
 * @throws MigrationError N2I-E320
 */
function checkLoaded({ path }: RunFolder, entries: readonly Entry[], { undo }: FinishArgs): void {
  if (plansOf(entries, IRONIC).length === 0)
    throw new MigrationError("N2I-E320", `${path} has loaded nothing`);
  if (!undo && plansThere(entries).length === 0)
    throw new MigrationError("N2I-E320", `what ${path} loaded was taken back`);
}

interface Todo {
  readonly nodes: () => ReturnType<typeof runNodes>;
  /** Batches of the load that did not come to their end. */
  readonly open: number;
}

async function act(
  run: RunFolder,
  backend: Backend,
  { header, footer }: Awaited<ReturnType<typeof openPlan>>,
  { nodes, open }: Todo,
  args: FinishArgs,
): Promise<void> {
  await withFinishing(run, backend, header, args.lockWait, async (finishing, release) => {
    const total = args.node === undefined ? footer.footer.machines : args.node.length;
    const made = await inStage(
      args.undo ? "protect" : "finish",
      total,
      args,
      (progress) => {
        const all = { ...finishing, progress };
        return args.undo ? unfinish(nodes(), all) : finish(nodes(), all);
      },
      ({ changed }) => `${changed} machines ${args.undo ? "protected again" : "cleared"}`,
    );
    const whole = args.node === undefined && !made.stopped && made.broke === null;
    if (whole && !args.undo && isNothing(made))
      throw new MigrationError("N2I-E320", `no machine that ${run.path} loaded is in Ironic`);
    if (!knowsGuards(release))
      told(args, `Ironic ${release.doc.release} protects no machine: there is nothing to clear.`);
    tell(made, args);
    if (made.left.length > 0) {
      await printView(standingsView(made.left), args);
      exitWith(EXIT_STATUS.partial.status);
    }
    if (made.broke !== null) throw made.broke;
    if (made.stopped) say(args, "Stopped on request; run the same command to go on.");
    else if (args.undo) await reopen(run, finishing, whole && made.left.length === 0, args);
    else if (whole && made.left.length === 0)
      await end(run, finishing, { ...made, open, plan: footer.sha256 }, args);
    else if (made.gone.length > 0) exitWith(EXIT_STATUS.partial.status);
    const undo = !args.undo;
    say(args, `${undo ? "Undo" : "Next"}: ${nextCommand("finish", args, { undo })}`);
  });
}

/** Whether there is no machine to speak of. */
function isNothing({ changed, fine, left }: Finished): boolean {
  return changed + fine + left.length === 0;
}

type Writing = Pick<RunSession, "by" | "journal" | "now">;

/** Ends a run whose machines are all there; one whose load has still to go on, apply must not refuse. */
async function end(
  run: RunFolder,
  { now, by, journal }: Writing,
  { gone, open, plan }: Pick<Finished, "gone"> & { readonly open: number; readonly plan: string },
  args: FinishArgs,
): Promise<void> {
  if ((await endOfRun(run)) === null) {
    const why = [
      ...(open > 0 ? [`${open} batches of its load did not come to their end`] : []),
      ...(gone.length > 0 ? [`not in Ironic: ${someOf(gone)}`] : []),
    ];
    if (why.length > 0) {
      told(args, `This run is not done: ${why.join("; ")}.`);
      told(args, "Run apply, then finish again; rollback --node gives up a machine for good.");
      return exitWith(EXIT_STATUS.partial.status);
    }
    await journal.append({ do: "close", plan, at: now(), by });
  }
  told(args, "This run is done.");
}

/** The run goes on once none of its machines is finished any more. */
async function reopen(
  run: RunFolder,
  { now, by, journal }: Writing,
  whole: boolean,
  args: FinishArgs,
): Promise<void> {
  if ((await endOfRun(run)) === null) return;
  if (whole || begunIn(journal.entries(), FINISH).size === 0)
    await journal.append({ do: "reopen", at: now(), by });
  else told(args, "Other machines of this run stay finished, and so does the run.");
}

const NAMED = 5;

function someOf(nodes: readonly string[]): string {
  const more = nodes.length > NAMED ? ` and ${nodes.length - NAMED} more` : "";
  return `${nodes.slice(0, NAMED).join(", ")}${more}`;
}

function tell({ changed, fine, held, untaken, gone, left }: Finished, args: FinishArgs): void {
  const keeps =
    held === 0
      ? ""
      : `, ${held} held by the plan (protected, or not cleaned, until somebody has looked)`;
  const waits =
    untaken === 0 ? "" : `, ${untaken} not taken over by a conductor yet (verify --takeover)`;
  const missing = gone.length === 0 ? "" : `, ${gone.length} not in Ironic`;
  const text = args.undo
    ? `Finish taken back: ${changed} machines protected again`
    : `Finish: ${changed} machines cleared, ${fine} with nothing to clear${keeps}${waits}${missing}`;
  told(args, `${text}, ${left.length} left.`);
}
