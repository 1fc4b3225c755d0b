import { MigrationError } from "../lib/error.ts";
import type { ManagePart } from "./steps/manage.ts";
import type { ManageChange } from "./steps/manage-acts.ts";
import type { ManagePosition } from "./steps/manage-positions.ts";

/** The events of a machine: `manage.start`, then `manage.end` or `manage.error`. */
export interface ManageEvent {
  readonly event: "manage.start" | "manage.end" | "manage.error";
  readonly node: string;
  readonly name: string;
  /** Null: refused before a uuid was chosen. */
  readonly server: string | null;
  readonly why?: string;
}

export type Notify = (event: ManageEvent) => void;

/** A machine that is refused before its first step also has two events. */
export function refused(change: ManageChange, why: readonly string[], notify: Notify): void {
  notify({ event: "manage.start", ...named(change) });
  notify({ event: "manage.error", ...named(change), why: why.join("; ") });
}

export function tellEnds(held: ReadonlyMap<string, ManageChange>, notify: Notify): void {
  for (const change of held.values()) notify({ event: "manage.end", ...named(change) });
}

export function named({ id, asked, server }: ManageChange): Omit<ManageEvent, "event"> {
  return { node: id, name: asked?.name ?? "", server };
}

/**
 * Wraps the part with the events of each machine.
 *
 * @param holds whether to delay the end event
 * @param broke called for each machine that fails with an exception
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
