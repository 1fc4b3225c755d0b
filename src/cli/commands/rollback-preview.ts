import { findPlan } from "../../edge/disk/archive.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { inspectBack } from "../../engine/back.ts";
import type { Excluded, Part } from "../../engine/part.ts";
import type { PlanHeader, TargetIdentity } from "../../model/artefact.ts";
import { type Entry, IRONIC } from "../../model/journal.ts";
import type { Json } from "../../model/json.ts";
import { type Step, stepsOf } from "../../model/plan.ts";
import { batchOf, ironicPart } from "../../parts/ironic.ts";
import { checkEngine, checkIdentity } from "../../stages/acting.ts";
import { costOfDelete } from "../../stages/cost.ts";
import type { Road } from "../../stages/road.ts";
import { openPlan, sealOf } from "../../stages/run.ts";
import { io } from "../io.ts";
import type { FormatOptions } from "../print/options.ts";
import { printRows } from "../print/table.ts";
import { novaExcluded, novaPreview, type Reach } from "./nova-preview.ts";
import type { Wanted } from "./rollback-act.ts";

interface Args extends FormatOptions, Reach {
  readonly keyFile?: string;
}

const COLUMNS = ["Action", "Resource", "UUID", "BM ID", "Why"];

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
  entries: readonly Entry[],
  args: Args,
): Promise<void> {
  const { nova } = wanted;
  let nodes = 0;
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    const excluded = new Map(nova === null ? [] : await novaExcluded(run, args, nova));
    const kept = new Map<string, string>();
    for await (const row of ofIronic(run, road, wanted, entries, args, excluded, kept)) {
      if (row[0] === "remove" && row[1] === "node") nodes += 1;
      yield row;
    }
    for (const [uuid, why] of kept) excluded.set(uuid, why);
    if (nova !== null) yield* novaPreview(run, args, nova, excluded);
  };
  await printRows(io().stdout, COLUMNS, rows(), args);
  const cost = nodes === 0 ? null : costOfDelete(nodes, (await road?.scanned?.()) ?? []);
  if (cost !== null) io().stderr.write(`${cost}\n`);
}

/** @param kept told of machines of which something stays, and why */
async function* ofIronic(
  run: RunFolder,
  road: Road | null,
  { plans, scope }: Wanted,
  entries: readonly Entry[],
  args: Args,
  excluded: Excluded,
  kept: Map<string, string>,
): AsyncGenerator<readonly Json[]> {
  for (const sha256 of plans) {
    const { header, lines } = await openPlan(await findPlan(run, sha256));
    const part = road === null ? unasked(header.target) : await openPart(run, road, header, args);
    const leg = { part, plan: sha256, lines, changesOf: stepsOf };
    for await (const batch of inspectBack(leg, entries, scope, excluded))
      for (const { line, change, state } of batch) {
        const { id, resource, machine } = change;
        const { is, why } = state;
        if (is === "after") continue;
        if (is === "other" && machine !== null && !excluded.has(machine))
          kept.set(machine, `in Ironic ${id} ${why}`);
        const said = is === "before" ? null : is === "waiting" ? `${why}: it is waited for` : why;
        const action = is === "other" ? "leave" : "remove";
        yield [action, resource, id.slice(id.indexOf(":") + 1), line.bm_node_id, said];
      }
  }
}

/** Nobody said where Ironic is: nothing is known but what the journal says. */
function unasked(target: TargetIdentity): Pick<Part<Step>, "name" | "size" | "inspect"> {
  return {
    ...{ name: IRONIC, size: batchOf(target) },
    inspect: (steps) => Promise.resolve(steps.map(({ id }) => ({ id, is: "before", why: "" }))),
  };
}

/** @throws MigrationError N2I-E300 and those of opening it, as the command itself would */
async function openPart(
  run: RunFolder,
  road: Road,
  header: PlanHeader,
  { keyFile }: Args,
): Promise<Part<Step>> {
  checkEngine(header.target, road);
  const seal = await sealOf(run, keyFile, header.key);
  const { identity, target } = await road.open(header.target.release, seal);
  checkIdentity(header.target, identity);
  return ironicPart(target);
}
