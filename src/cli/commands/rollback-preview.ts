import { batchOf, stretches } from "../../core/apply/apply.ts";
import { costOfDelete } from "../../core/apply/cost.ts";
import { ledgerOf } from "../../core/apply/ledger.ts";
import { undoSteps } from "../../core/apply/undo.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { JournalEntry } from "../../model/artefact.ts";
import type { Json } from "../../model/json.ts";
import type { Step } from "../../model/plan.ts";
import type { Judged, Target } from "../../model/target.ts";
import { io } from "../io.ts";
import type { FormatOptions } from "../print/options.ts";
import { printRows } from "../print/table.ts";
import { checkEngine, checkIdentity } from "../wire/acting.ts";
import type { Staying } from "../wire/nova-undoing.ts";
import type { Road } from "../wire/road.ts";
import { openPlan, sealOf } from "../wire/run.ts";
import { novaPreview, novaStaying, type Reach } from "./nova-preview.ts";
import type { Wanted } from "./rollback-act.ts";

interface Args extends FormatOptions, Reach {
  readonly keyFile?: string;
}

const COLUMNS = ["Action", "Resource", "UUID", "BM ID", "Why"];

const NODE = "node:";

/** A run that loaded nothing has an empty list, where programs read it. */
export async function previewNothing(args: FormatOptions): Promise<void> {
  if (args.format !== "table") await printRows(io().stdout, COLUMNS, [], args);
}

/**
 * Prints what the same command line would take back, in its order: Ironic's rows, then Nova's, those
 * of a machine that stays in Ironic not. What is gone already is not told.
 *
 * @param road null where nobody said where Ironic is: then nothing is known of its rows but the journal
 */
export async function preview(
  run: RunFolder,
  road: Road | null,
  wanted: Wanted,
  entries: readonly JournalEntry[],
  args: Args,
): Promise<void> {
  const { nova } = wanted;
  let nodes = 0;
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    const staying = new Map(nova === null ? [] : await novaStaying(run, args, nova));
    const kept = new Map<string, string>();
    for await (const row of ofIronic(run, road, wanted, entries, args, staying, kept)) {
      if (row[0] === "remove" && row[1] === "node") nodes += 1;
      yield row;
    }
    for (const [uuid, why] of kept) staying.set(uuid, why);
    if (nova !== null) yield* novaPreview(run, args, nova, staying);
  };
  await printRows(io().stdout, COLUMNS, rows(), args);
  const cost = nodes === 0 ? null : costOfDelete(nodes, (await road?.scanned?.()) ?? []);
  if (cost !== null) io().stderr.write(`${cost}\n`);
}

/** @param kept told of machines whose node stays, and why */
async function* ofIronic(
  run: RunFolder,
  road: Road | null,
  { plans, scope }: Wanted,
  entries: readonly JournalEntry[],
  args: Args,
  staying: Staying,
  kept: Map<string, string>,
): AsyncGenerator<readonly Json[]> {
  for (const sha256 of plans) {
    const ledger = ledgerOf(entries, sha256);
    const plan = await openPlan(await findPlan(run, sha256));
    const target = road === null ? null : await openTarget(run, road, plan, args);
    for await (const { from, to, machines } of stretches(
      plan.lines(),
      batchOf(plan.header.target),
    )) {
      const chosen = machines
        .filter(scope.wants)
        .map((machine) => ({ machine, steps: undoSteps(machine, ledger, { from, to }) }));
      const going = chosen.filter(({ machine }) => !staying.has(machine.uuid ?? ""));
      const judge = await judgement(
        target,
        going.flatMap(({ steps }) => steps),
      );
      for (const { machine, steps } of chosen)
        for (const { id, resource } of steps) {
          const [action, why] = judge(id, staying.get(machine.uuid ?? "") ?? null);
          if (action === "gone") continue;
          if (action === "leave" && id.startsWith(NODE))
            kept.set(id.slice(NODE.length), `in Ironic ${id} ${why}`);
          yield [action, resource, id.slice(id.indexOf(":") + 1), machine.bm_node_id, why];
        }
    }
  }
}

/** @throws MigrationError N2I-E300 and those of opening it, as the command itself would */
async function openTarget(
  run: RunFolder,
  road: Road,
  { header }: Awaited<ReturnType<typeof openPlan>>,
  { keyFile }: Args,
): Promise<Target> {
  checkEngine(header.target, road);
  const seal = await sealOf(run, keyFile, header.key);
  const { identity, target } = await road.open(header.target.release, seal);
  checkIdentity(header.target, identity);
  return target;
}

type Action = "remove" | "leave" | "gone";

/** What becomes of each step, and why. */
async function judgement(
  target: Target | null,
  steps: readonly Step[],
): Promise<(id: string, staying: string | null) => readonly [Action, string | null]> {
  const judged: Judged =
    target === null || steps.length === 0
      ? { found: [], left: [], waiting: [] }
      : await target.judge(steps);
  const found = new Set(judged.found);
  const left = new Map(judged.left.map(({ id, why }) => [id, why]));
  const waiting = new Map(judged.waiting.map(({ id, why }) => [id, why]));
  return (id, staying) => {
    if (found.has(id)) return ["gone", null];
    const why = staying ?? left.get(id);
    if (why !== undefined) return ["leave", why];
    const waits = waiting.get(id);
    return ["remove", waits === undefined ? null : `${waits}: it is waited for`];
  };
}
