import { stagedIn, stagedTrees } from "../core/boot/staged.ts";
import { isLoaded } from "../core/verify/verify.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { sweep } from "../edge/tftp/hands.ts";
import { ownerIn, perform, undoStep } from "../edge/tftp/perform.ts";
import type { Tree } from "../edge/tftp/tree.ts";
import { MigrationError } from "../model/error.ts";
import { entriesOf } from "../model/journal.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { Seal } from "../model/secret.ts";
import { BOOT_FILES, type BootEntry } from "../model/staging.ts";
import { regroup } from "../model/streams.ts";
import { failpoint } from "./failpoint.ts";
import { whoami } from "./run.ts";
import { withSession } from "./session.ts";
import { askedOf, type Prepared, prepare, ready } from "./staging.ts";

/** What becomes of one machine's boot files. */
export interface BootRow {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly state: "ready" | "staged" | "to stage" | "left" | "undone" | "stumbles";
  readonly changes: readonly string[];
  readonly why: string | null;
}

export interface StageResult {
  readonly rows: readonly BootRow[];
  readonly stopped: boolean;
  /** Other trees in which something of this run is staged; told by an undo. */
  readonly elsewhere: readonly string[];
}

export interface Place {
  readonly tree: Tree;
  /** Old trees, for kernels and ramdisks. */
  readonly from: readonly Tree[];
  /** The tree's root as the TFTP server has it. */
  readonly served: string;
}

/**
 * Each machine that has to boot, with what the tree lacks for it.
 *
 * @param together machines looked at at once; 1 where they are staged meanwhile, since they share folders
 */
export async function* preparedOf(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  { tree, from, served }: Place,
  together: number,
): AsyncGenerator<Prepared> {
  for await (const batch of regroup(plan, together))
    yield* await Promise.all(
      batch.filter(isLoaded).flatMap((machine) => {
        const asked = askedOf(machine);
        if (asked === null) return [];
        const { bm_node_id, uuid } = machine;
        if ("wanted" in asked) return [prepare(asked, bm_node_id, tree, from, served)];
        const nothing = { changes: [], seen: new Map(), sources: { kernel: null, ramdisk: null } };
        return [Promise.resolve({ node: uuid ?? "", bm_node_id, why: asked.why, ...nothing })];
      }),
    );
}

/** What staging would do for a machine. */
export function rowOf({ node, bm_node_id, changes, why }: Prepared): BootRow {
  const state = why !== null ? "left" : changes.length === 0 ? "ready" : "to stage";
  return { uuid: node, bm_node_id, state, changes: changes.map(({ path }) => path), why };
}

/**
 * Stages what the tree lacks, machine by machine: what is begun is on disk before, with what it
 * replaces. Safe to run again.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function stageAll(
  run: RunFolder,
  prepared: AsyncIterable<Prepared>,
  { tree }: Place,
  seal: Seal,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const fresh = await ownerIn(tree.root);
  const rows: BootRow[] = [];
  return withBootJournal(run, tree, async ({ append, stopping }) => {
    for await (const machine of prepared) {
      if (stopping()) return { rows, stopped: true, elsewhere: [] };
      const row = rowOf(machine);
      if (row.state === "to stage") {
        const at = { tree: tree.root, node: machine.node };
        await midway(rows, async () => {
          const all = await ready(machine, seal);
          const steps = all.map(({ step }) => step);
          await append({
            part: BOOT_FILES,
            do: "stage",
            ...at,
            steps,
            at: new Date().toISOString(),
            by: whoami(),
          });
          for (const { step, source, owner } of all) {
            await perform(tree.root, step, source, owner ?? { mode: 0o644, ...fresh }, failpoint);
            await failpoint("boot.step");
          }
          await append({ part: BOOT_FILES, do: "staged", ...at, at: new Date().toISOString() });
        });
      }
      rows.push(row.state === "to stage" ? { ...row, state: "staged" } : row);
      progress(rows.length);
    }
    return { rows, stopped: false, elsewhere: [] };
  });
}

/**
 * Takes back what this run staged in a tree, last machine and last step first; what somebody
 * changed since is left and told.
 *
 * @throws MigrationError N2I-E301 when it stops midway
 */
export async function unstageAll(
  run: RunFolder,
  { tree }: Place,
  seal: Seal,
  wants: (node: string) => boolean,
  progress: (machines: number) => void,
): Promise<StageResult> {
  const rows: BootRow[] = [];
  return withBootJournal(run, tree, async ({ entries, append, stopping }) => {
    const elsewhere = [...stagedTrees(entries()).keys()].filter((other) => other !== tree.root);
    for (const { node, steps } of stagedIn(entries(), tree.root).toReversed()) {
      if (!wants(node)) continue;
      if (stopping()) return { rows, stopped: true, elsewhere };
      const at = { tree: tree.root, node };
      const left = new Map<string, string>();
      await midway(rows, async () => {
        await append({
          part: BOOT_FILES,
          do: "unstage",
          ...at,
          at: new Date().toISOString(),
          by: whoami(),
        });
        for (const step of steps.toReversed()) {
          // A boot file that is somebody else's by now needs kernel and ramdisk, though they equal ours.
          if (left.has(`${node}/config`) && step.after.kind === "file") {
            left.set(step.path, `${step.path} is in use`);
            continue;
          }
          const was = step.before?.kind === "file" ? step.before.was : undefined;
          const text = was === undefined ? null : seal.open({ ...was.text, of: `boot:${node}` });
          const undone = await undoStep(tree.root, step, text, failpoint);
          if (typeof undone === "object") left.set(step.path, undone.left);
          await failpoint("boot.step");
        }
        await append({
          part: BOOT_FILES,
          do: "unstaged",
          ...at,
          at: new Date().toISOString(),
          left: [...left.keys()],
        });
      });
      const state = left.size > 0 ? "left" : "undone";
      const why = left.size > 0 ? [...left.values()].join("; ") : null;
      rows.push({ uuid: node, bm_node_id: 0, state, changes: steps.map(({ path }) => path), why });
      progress(rows.length);
    }
    return { rows, stopped: false, elsewhere };
  });
}

async function midway(rows: readonly BootRow[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    const done = rows.filter(({ state }) => state === "staged" || state === "undone").length;
    const message = `boot stopped after ${done} machines: ${cause.code} ${cause.message}`;
    throw new MigrationError("N2I-E301", message, { cause });
  }
}

interface Journalled {
  readonly entries: () => readonly BootEntry[];
  readonly append: (entry: BootEntry) => Promise<void>;
  readonly stopping: () => boolean;
}

/** The run's journal, after what a crash left half made in the tree was removed. */
async function withBootJournal<T>(
  run: RunFolder,
  { root }: Tree,
  work: (journalled: Journalled) => Promise<T>,
): Promise<T> {
  return withSession(run, async ({ begin, journal, stopping }) => {
    await begin(BOOT_FILES, { tree: root });
    const entries = (): readonly BootEntry[] => entriesOf(journal.entries(), BOOT_FILES);
    for (const { steps, open } of stagedIn(entries(), root))
      if (open) for (const { path } of steps) await sweep(root, path);
    return work({ entries, append: journal.append, stopping });
  });
}
