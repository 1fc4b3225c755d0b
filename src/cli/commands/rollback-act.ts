import type { Scope } from "../../core/apply/undo.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { NovaPart } from "../../model/nova-plan.ts";
import type { Left } from "../print/left.ts";
import type { FormatOptions } from "../print/options.ts";
import type { FlavorApiOptions } from "../wire/flavor-api.ts";
import type { Staying } from "../wire/nova-undoing.ts";
import type { Watching } from "../wire/nova-watch.ts";
import type { Road } from "../wire/road.ts";
import { afterNova } from "./apply-nova.ts";
import { type NovaWish, novaBackOf } from "./nova-back.ts";
import { undoPlan } from "./rollback-plan.ts";
import { say, told, type Voice } from "./shared.ts";

interface Args extends Voice, FormatOptions, FlavorApiOptions {
  readonly novaDb?: string;
  readonly keyFile?: string;
}

/** What to take back. */
export interface Wanted {
  /** Plans of the run that loaded something, newest first. */
  readonly plans: readonly string[];
  readonly scope: Scope;
  /** Of Nova's rows; null where the run changed none. */
  readonly nova: NovaWish | null;
}

export const STOPPED = "Stopped on request; run the same command to go on.";

/**
 * Takes Ironic's rows back, then Nova's. What stays of either is added to the list of those left.
 *
 * @param road null where nothing of the run is in Ironic any more, which is not asked then
 * @param look throws as soon as a nova-compute reports
 * @returns whether it came to its end; not when it was stopped on request
 */
export async function takeBack(
  run: RunFolder,
  road: Road | null,
  { plans, scope, nova }: Wanted,
  watching: Watching,
  look: () => Promise<void>,
  left: Left,
  args: Args,
): Promise<boolean> {
  const novaBack = nova === null ? null : novaBackOf(run, args, nova, watching, left);
  let removed = 0;
  const staying = new Map((await novaBack?.look()) ?? []);
  left.add(whole(staying));
  const back = async (part: NovaPart): Promise<boolean> => {
    if (novaBack === null) return true;
    const { stopped } = await novaBack.part(part, staying).catch((cause: unknown) => {
      throw removed === 0
        ? cause
        : afterNova(cause, `${removed} rows are removed from Ironic, nova's are not all back`);
    });
    return !stopped;
  };
  const stop = (): boolean => {
    say(args, STOPPED);
    return false;
  };
  const kept = new Map<string, string>();
  const others = withoutSome(scope, staying);
  for (const sha256 of plans) {
    if (road === null) break;
    const undone = await undoPlan(run, road, sha256, others, look, left, args);
    removed += undone.removed;
    for (const [uuid, why] of undone.staying) kept.set(uuid, why);
    if (undone.stopped) return stop();
  }
  if (novaBack !== null && kept.size > 0)
    told(args, `${kept.size} machines stay in Ironic, and their rows of nova with them.`);
  for (const [uuid, why] of kept) staying.set(uuid, why);
  for (const part of ["hosts", "api", "flavors"] as const) if (!(await back(part))) return stop();
  return true;
}

/** Machines of which a row of Nova was changed stay whole: their nodes are what their instances have. */
function withoutSome({ all, wants }: Scope, staying: Staying): Scope {
  const some = new Set(staying.keys());
  return {
    all: all && some.size === 0,
    wants: (machine) => wants(machine) && !some.has(machine.uuid ?? ""),
  };
}

function whole(staying: Staying): readonly { readonly id: string; readonly why: string }[] {
  return [...staying].map(([uuid, why]) => ({
    id: `machine:${uuid}`,
    why: `${why}: all of it stays`,
  }));
}
