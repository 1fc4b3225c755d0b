import { windowBack, windowForward } from "../../engine/window.ts";
import { ONE_BY_ONE } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { regroup } from "../../lib/streams.ts";
import { bootPart, stagedTrees } from "../../migrate/boot/boot-steps.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import type { BootRow } from "../../model/preview.ts";
import type { Seal } from "../../model/secret.ts";
import { failpoint } from "../../run/failpoint.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { type RunSession, withSession } from "../../run/session.ts";
import { stumbles } from "../../systems/tftp/rules/stage.ts";
import { readLink, readText, sizeOf, type Tree } from "../../systems/tftp/tree.ts";
import {
  askedOf,
  type BootMachine,
  type BootPlace,
  inspectBoot,
  stagedMachines,
  stagingPart,
  sweepOpen,
  unstagingPart,
} from "./boot-files.ts";

export interface StageResult {
  readonly rows: readonly BootRow[];
  readonly stopped: boolean;
  /** Other trees in which something of this run is staged; named by an undo. */
  readonly elsewhere: readonly string[];
}

export type Lines = AsyncIterable<readonly PlannedMachine[]>;

/** Machines looked at at once, where nothing is staged meanwhile. */
const TOGETHER = 32;

/** Each machine that has to boot. */
async function* machinesOf(plan: Lines): AsyncGenerator<readonly BootMachine[]> {
  for await (const batch of plan)
    yield batch.filter(isLoaded).flatMap((machine) => {
      const asked = askedOf(machine);
      const { uuid, bm_node_id } = machine;
      return asked === null ? [] : [{ id: uuid ?? "", bm_node_id, asked }];
    });
}

/** What staging would do; writes nothing. */
export async function previewStaging(plan: Lines, place: BootPlace): Promise<readonly BootRow[]> {
  const rows: BootRow[] = [];
  for await (const batch of regroup(machinesOf(plan), TOGETHER))
    for (const [at, { is, paths, why }] of (await inspectBoot(batch, place)).entries()) {
      const { id = "", bm_node_id = 0 } = batch[at] ?? {};
      const state = is === "other" ? "left" : is === "after" ? "ready" : "to stage";
      rows.push({ uuid: id, bm_node_id, state, changes: paths, why });
    }
  return rows;
}

/**
 * Stages what the tree lacks, machine by machine: what is begun is on disk before, with what it
 * replaces. Safe to run again.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function stageAll(
  run: RunFolder,
  plan: Lines,
  place: BootPlace,
  seal: Seal,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const rows: BootRow[] = [];
  const part = stagingPart(place, { seal, pause: failpoint });
  const leg = { part, command: "boot", changes: () => machinesOf(plan), pace: ONE_BY_ONE };
  return withTree(run, place.tree, async (session) => {
    const { stopped, broke } = await windowForward(leg, session, (ending) => {
      const { change, position, made, behind } = ending;
      const state = made ? "staged" : position.is === "after" ? "ready" : "left";
      const { paths: changes, why } = position;
      rows.push({ uuid: change.id, bm_node_id: change.bm_node_id, state, changes, why });
      progress(behind);
    });
    if (broke !== null) throw broke;
    return { rows, stopped, elsewhere: [] };
  });
}

/**
 * Takes back what this run staged in a tree, last machine and last step first; what somebody
 * changed since is left and reported.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function unstageAll(
  run: RunFolder,
  { tree }: BootPlace,
  seal: Seal,
  wants: (node: string) => boolean,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const rows: BootRow[] = [];
  const part = unstagingPart(tree, { seal, pause: failpoint });
  return withTree(run, tree, async (session) => {
    const trees = [...stagedTrees(session.journal.entries())];
    const elsewhere = trees.flatMap(([other, machines]) =>
      other !== tree.root && machines > 0 ? [other] : [],
    );
    const leg = {
      ...{ part, command: "boot", pace: ONE_BY_ONE },
      async *changes(ours: Parameters<typeof stagedMachines>[0]) {
        yield stagedMachines(ours).filter(({ id }) => wants(id));
      },
    };
    const { stopped, broke } = await windowBack(leg, session, ({ change, position, behind }) => {
      const { is, paths: changes, why } = position;
      const state = is === "after" ? "undone" : "left";
      rows.push({ uuid: change.id, bm_node_id: 0, state, changes, why });
      progress(behind);
    });
    if (broke !== null) throw broke;
    return { rows, stopped, elsewhere };
  });
}

/** The run's journal, after what a crash left half made in the tree was removed. */
function withTree<T>(
  run: RunFolder,
  tree: Tree,
  work: (session: RunSession) => Promise<T>,
): Promise<T> {
  return withSession(run, async (session) => {
    await session.begin(bootPart(tree.root), { tree: tree.root });
    await sweepOpen(tree, session.journal.entries());
    return work(session);
  });
}

/**
 * Reads the tree as a machine would.
 *
 * @throws MigrationError N2I-E326 when there was nothing to read
 */
export async function verifyStaged(
  plan: Lines,
  { tree, served }: BootPlace,
): Promise<readonly BootRow[]> {
  const server = {
    link: (path: string) => readLink(tree, path),
    size: (path: string) => sizeOf(tree, path),
    text: async (path: string) => {
      const content = await readText(tree, path);
      return content.kind === "text" ? content.text : null;
    },
  };
  const rows: BootRow[] = [];
  for await (const batch of machinesOf(plan))
    for (const { id, bm_node_id, asked } of batch) {
      const wrong =
        "why" in asked ? [asked.why] : await stumbles(asked.wanted, server, [served, tree.root]);
      const broken = "why" in asked ? "left" : "stumbles";
      const state = wrong.length > 0 ? broken : "ready";
      rows.push({ uuid: id, bm_node_id, state, changes: [], why: wrong.join("; ") || null });
    }
  if (rows.length === 0)
    throw new MigrationError(
      "N2I-E326",
      "no machine of the plan, or of those named, has a tenant that boots from this tree",
    );
  return rows;
}
