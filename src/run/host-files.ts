import { MigrationError } from "../lib/error.ts";
import type { JsonObject } from "../lib/json.ts";
import { type Entries, plansOf } from "../model/journal.ts";
import { HOST_PARTS, MOVES, type MoveManifest, type PlannedMove } from "../model/nova/host-move.ts";
import { findPlan, MANIFEST, openFileOf, openManifest, PLAN } from "./files/plan-folder.ts";
import type { RunFolder } from "./files/run-folder.ts";

export interface MovePlan {
  readonly manifest: MoveManifest;
  readonly sha256: string;
  readonly lines: () => AsyncIterable<readonly PlannedMove[]>;
}

/**
 * Opens a plan and checks its digests.
 * @param path folder of a plan, or a link to it
 * @throws MigrationError N2I-E110 to N2I-E114, N2I-E315 for a plan of another kind
 */
export async function openMovePlan(path: string): Promise<MovePlan> {
  const opened = await openManifest(path, "moves");
  const manifest = opened.manifest as object as MoveManifest; // by its kind
  if (!isOfHosts(manifest))
    throw new MigrationError("N2I-E315", `${path}/${MANIFEST} migrates machines to Ironic`);
  const { lines } = await openFileOf<JsonObject, PlannedMove>(opened, MOVES);
  return { manifest, sha256: opened.sha256, lines };
}

export function isOfHosts(manifest: object): boolean {
  return "kind" in manifest && manifest.kind === "hosts";
}

/** Plans of a run that changed something, by the journal, newest first. */
export async function movePlans(run: RunFolder, entries: Entries): Promise<readonly MovePlan[]> {
  const plans: MovePlan[] = [];
  for (const sha256 of plansOf(entries, ...HOST_PARTS))
    plans.push(await openMovePlan(await findPlan(run, sha256)));
  return plans;
}

/** @throws MigrationError N2I-E110 without a plan */
export function presentMoves({ path }: RunFolder): Promise<MovePlan> {
  return openMovePlan(`${path}/${PLAN}`);
}

export async function* movesOf(path: string): AsyncGenerator<PlannedMove> {
  for await (const batch of (await openMovePlan(path)).lines()) yield* batch;
}
