import type { JsonObject } from "../lib/json.ts";
import type { MachineEntry } from "../model/journal.ts";
import type { Direction, Session } from "./part.ts";
import type { StartedChange } from "./started.ts";
import type { Position, WindowPart } from "./window-part.ts";

export function actsOf<C extends { readonly id: string }, P extends Position>(
  part: WindowPart<C, P>,
  { journal, now, by }: Pick<Session, "journal" | "now" | "by">,
  direction: Direction,
  startedChanges: ReadonlyMap<string, StartedChange>,
) {
  /** By id, the data of its start entry. */
  const started = new Map<string, string>();
  const made = new Set<string>();
  const about = (id: string) => ({ part: part.name, id, at: now() });

  async function begin(id: string, observed?: JsonObject): Promise<void> {
    const what = JSON.stringify(observed ?? null);
    if (started.get(id) === what) return;
    started.set(id, what);
    const keeps = observed !== undefined && (direction !== "back" || part.keepsBack === true);
    await journal.append({
      ...{ do: direction === "back" ? "return" : "start", ...about(id), by },
      ...(keeps && { observed }),
    });
  }
  /** Journal entry of an end. Null if it is recorded already, or nothing ended. */
  function entryOf(id: string, { is, remainder }: P): MachineEntry | null {
    if (direction === "back") {
      if (is === "after") return { do: "returned", ...about(id) };
      return remainder === undefined ? null : { do: "returned", ...about(id), left: remainder };
    }
    const isOpen = started.has(id) || startedChanges.get(id)?.open === true;
    return is === "after" && isOpen ? { do: "end", ...about(id) } : null;
  }
  return {
    async perform(change: C, position: P): Promise<P> {
      const { id } = change;
      const reached = await part.perform(change, position, (observed) => begin(id, observed));
      if (reached.is === "before") throw new Error(`${part.name} left ${id} as it was`);
      if (reached.is === "other" || reached.is === "waiting") return reached;
      if (!started.has(id)) throw new Error(`${part.name} changed ${id} and did not begin it`);
      made.add(id);
      return reached;
    },
    /** Records the end. @returns whether the machine was changed now */
    async ended({ id }: C, position: P): Promise<boolean> {
      const entry = entryOf(id, position);
      if (entry !== null) await journal.append(entry);
      return made.has(id);
    },
    /** Whether a machine was started, so that something may be changed. */
    hasStarted: (): boolean => started.size > 0,
    made: (): number => made.size,
  };
}
