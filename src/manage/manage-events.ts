import { MigrationError } from "../lib/error.ts";
import type { ManagePart } from "./steps/manage.ts";
import type { ManageChange } from "./steps/manage-acts.ts";
import type { ManagePosition } from "./steps/manage-positions.ts";

/** What becomes of a machine as it is done: `manage.start`, then `manage.end` or `manage.error`. */
export interface ManageEvent {
  readonly event: "manage.start" | "manage.end" | "manage.error";
  readonly node: string;
  readonly name: string;
  /** Null: it was refused before one was chosen. */
  readonly server: string | null;
  readonly why?: string;
}

export type Notify = (event: ManageEvent) => void;

/** One that is refused as it was found has its two events, too. */
export function refused(change: ManageChange, why: readonly string[], notify: Notify): void {
  notify({ event: "manage.start", ...named(change) });
  notify({ event: "manage.error", ...named(change), why: why.join("; ") });
}

/** The word that was kept back of machines, now that it is true. */
export function tellEnds(held: ReadonlyMap<string, ManageChange>, notify: Notify): void {
  for (const change of held.values()) notify({ event: "manage.end", ...named(change) });
}

export function named({ id, asked, server }: ManageChange): Omit<ManageEvent, "event"> {
  return { node: id, name: asked?.name ?? "", server };
}

/**
 * The part, with a word about each machine as it is begun and as it ends.
 *
 * @param holds whether the word that one has its record is not said yet
 * @param broke hears of each that throws
 */
export function telling(
  part: ManagePart,
  notify: Notify,
  {
    holds,
    broke,
  }: {
    readonly holds: (change: ManageChange, reached: ManagePosition) => boolean;
    readonly broke: (change: ManageChange, why: string) => void;
  },
): ManagePart {
  return {
    ...part,
    async perform(change, seen, begin) {
      const about = named(change);
      notify({ event: "manage.start", ...about });
      try {
        const reached = await part.perform(change, seen, begin);
        if (reached.is === "after") {
          if (!holds(change, reached)) notify({ event: "manage.end", ...about });
        } else notify({ event: "manage.error", ...about, why: reached.why.join("; ") });
        return reached;
      } catch (cause) {
        const why = cause instanceof MigrationError ? `${cause.code} ${cause.message}` : "a fault";
        notify({ event: "manage.error", ...about, why });
        broke(change, why);
        throw cause;
      }
    },
  };
}
