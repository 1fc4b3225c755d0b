import { MigrationError, orNull } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { managesNodes } from "../manage/manage-run.ts";
import { type Entries, entriesOf, plansOf } from "../model/journal.ts";
import { MOVES, type MoveManifest, type PlannedMove } from "../model/nova/host-move.ts";
import { switchesOver } from "../switchover/switchover-run.ts";
import { LEGACY } from "../takeover/baremetal/steps/legacy-begun.ts";
import { HOST_PARTS } from "../takeover/steps/host-move.ts";
import { readJournal } from "./files/journal.ts";
import { findPlan, MANIFEST, openFileOf, openManifest, PLAN } from "./files/plan-folder.ts";
import type { RunFolder } from "./files/run-folder.ts";

/** A plan that moves machines between compute hosts. */
export interface MovePlan {
  readonly manifest: MoveManifest;
  readonly sha256: string;
  readonly lines: () => AsyncIterable<readonly PlannedMove[]>;
}

/**
 * Opens one, each line compared with the digests.
 *
 * @param path of the plan's folder, or a link to it
 * @throws MigrationError N2I-E110 to N2I-E114, N2I-E315 for a plan of another kind
 */
export async function openMovePlan(path: string): Promise<MovePlan> {
  const opened = await openManifest(path);
  const manifest = opened.manifest as object as MoveManifest; // its kind says so
  if (!isOfHosts(manifest))
    throw new MigrationError("N2I-E315", `${path}/${MANIFEST} carries machines over to Ironic`);
  const { lines } = await openFileOf<JsonObject, PlannedMove>(opened, MOVES);
  return { manifest, sha256: opened.sha256, lines };
}

/** Whether a run moves machines between compute hosts: by its plan, and by its journal where that cannot be read. */
export async function movesHosts(run: RunFolder): Promise<boolean> {
  const manifest = await orNull(openManifest(`${run.path}/${PLAN}`));
  if (manifest !== null) return isOfHosts(manifest.manifest);
  return (await begunKind(run)) !== null;
}

/**
 * Whether those machines are nova-baremetal's: by its journal, which a plan of the other kind does not hide, and
 * by its plan where nothing was begun.
 */
export async function movesLegacy(run: RunFolder): Promise<boolean> {
  const opened = await orNull(openManifest(`${run.path}/${PLAN}`));
  if (opened !== null && !isOfHosts(opened.manifest)) return false;
  const kind = await begunKind(run);
  return kind === null ? opened !== null && "nova_bm" in opened.manifest : kind === "legacy";
}

/** What kind of machines a run began to move, by its journal; null where it moved none. */
async function begunKind(run: RunFolder): Promise<"ironic" | "legacy" | null> {
  const { entries = [] } = (await orNull(readJournal(run))) ?? {};
  if (entriesOf(entries, LEGACY).next().done === false) return "legacy";
  return plansOf(entries, ...HOST_PARTS).length > 0 ? "ironic" : null;
}

/** @throws MigrationError N2I-E315 for a run that does something else: its plan, or its journal, is its way back */
export async function checkCarries(run: RunFolder): Promise<void> {
  if (await managesNodes(run))
    throw new MigrationError("N2I-E315", `${run.path} gives machines their server record`, {
      fix: "With this run work node manage, node unmanage, status, verify and rollback; give extract a --run of its own.",
    });
  if (await switchesOver(run))
    throw new MigrationError("N2I-E315", `${run.path} switches a machine over`, {
      fix: "With this run work node switchover, status, verify and rollback; give extract a --run of its own.",
    });
  if (await movesHosts(run))
    throw new MigrationError("N2I-E315", `${run.path} moves machines between compute hosts`, {
      fix: "With this run work host move, show, status, verify and rollback; give extract a --run of its own.",
    });
}

/** Whether a plan moves machines between compute hosts, by its manifest. */
export function isOfHosts(manifest: object): boolean {
  return "kind" in manifest && manifest.kind === "hosts";
}

/** The plans of a run that changed something, by the journal, newest first. */
export async function movePlans(run: RunFolder, entries: Entries): Promise<readonly MovePlan[]> {
  const plans: MovePlan[] = [];
  for (const sha256 of plansOf(entries, ...HOST_PARTS))
    plans.push(await openMovePlan(await findPlan(run, sha256)));
  return plans;
}

/** The present plan. @throws MigrationError N2I-E110 where the run has none */
export function presentMoves({ path }: RunFolder): Promise<MovePlan> {
  return openMovePlan(`${path}/${PLAN}`);
}

/** The machines of a plan, one by one. */
export async function* movesOf(path: string): AsyncGenerator<PlannedMove> {
  for await (const batch of (await openMovePlan(path)).lines()) yield* batch;
}
