import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Scope } from "../engine/back.ts";
import type { Excluded } from "../engine/part.ts";
import type { Entry } from "../model/journal.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { afterNova } from "./apply-nova.ts";
import type { Backend } from "./backend.ts";
import type { Reach } from "./flavor-api.ts";
import { type NovaWish, withNovaBack } from "./nova-back.ts";
import type { Watching } from "./nova-watch.ts";
import { BACK_AFTER_IRONIC, STOPPED } from "./pipeline.ts";
import { type Backing, undoPlan } from "./rollback-plan.ts";

/** What of a run is to be taken back. */
export interface Wanted {
  readonly run: RunFolder;
  /** Its journal. */
  readonly entries: readonly Entry[];
  /** Plans of the run that loaded something, newest first. */
  readonly plans: readonly string[];
  readonly scope: Scope<PlannedMachine>;
  /** Of Nova's rows; null where the run changed none. */
  readonly nova: NovaWish | null;
}

/**
 * Takes Ironic's rows back, then Nova's. What stays of either is added to the list of those left.
 *
 * @param backend null where nothing of the run is in Ironic any more, which is not asked then
 * @returns whether it came to its end; not when it was stopped on request
 */
export function takeBack(
  backing: Backing,
  backend: Backend | null,
  { plans, nova: wish }: Pick<Wanted, "plans" | "nova">,
  watching: Watching,
  reach: Reach,
): Promise<boolean> {
  const { leave, sink } = backing;
  const stop = (): boolean => {
    sink.say(STOPPED);
    return false;
  };
  return withNovaBack(backing, wish, reach, watching, async (nova) => {
    const excluded = new Map((await nova?.look()) ?? []);
    leave(whole(excluded));
    const look = async (): Promise<void> => {
      // Its lock waits for the whole of Ironic's part: lost, it is met before the next batch.
      await nova?.check();
      await backing.look();
    };
    const ironic = await takeIronicBack({ ...backing, look }, backend, plans, excluded);
    const { removed, stays, stopped } = ironic;
    if (stopped) return stop();
    if (nova === null) return true;
    if (stays.size > 0)
      sink.told(`${stays.size} machines stay in Ironic, and their rows of nova with them.`);
    for (const [uuid, why] of stays) excluded.set(uuid, why);
    let restored = 0;
    for (const stage of BACK_AFTER_IRONIC) {
      const undone = await nova.part(stage, excluded).catch((cause: unknown) => {
        if (removed + restored === 0) throw cause;
        const ironic = removed === 0 ? "" : `${removed} rows are removed from Ironic, `;
        const some = restored === 0 ? "" : `${restored} restored in nova, `;
        throw afterNova(cause, `${ironic}${some}nova's are not all back`);
      });
      if (undone.stopped) return stop();
      restored += undone.done;
    }
    return true;
  });
}

async function takeIronicBack(
  backing: Backing,
  backend: Backend | null,
  plans: readonly string[],
  excluded: Excluded,
): Promise<{ readonly removed: number; readonly stays: Excluded; readonly stopped: boolean }> {
  let removed = 0;
  const stays = new Map<string, string>();
  for (const sha256 of plans) {
    if (backend === null) break;
    const undone = await undoPlan(backing, backend, sha256, excluded);
    removed += undone.removed;
    for (const [uuid, why] of undone.stays) stays.set(uuid, why);
    if (undone.stopped) return { removed, stays, stopped: true };
  }
  return { removed, stays, stopped: false };
}

function whole(excluded: Excluded): readonly { readonly id: string; readonly why: string }[] {
  return [...excluded].map(([uuid, why]) => ({
    id: `machine:${uuid}`,
    why: `${why}: all of it stays`,
  }));
}
