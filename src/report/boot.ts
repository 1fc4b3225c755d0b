import type { BootRow } from "../model/preview.ts";
import type { View } from "./table.ts";

/** Machines with something to do or to say. */
export function bootView(rows: readonly BootRow[]): View {
  const listed = rows.filter(({ state }) => state !== "ready");
  return {
    columns: ["UUID", "State", "Changes", "Why"],
    rows: listed.map(({ uuid, state, changes, why }) => [uuid, state, changes.join(" "), why]),
  };
}

/** @param none what it means that no machine is there */
export function bootSummary(title: string, rows: readonly BootRow[], none: string): string {
  const words = (["ready", "to stage", "staged", "undone", "stumbles", "left"] as const).flatMap(
    (wanted) => {
      const count = rows.filter(({ state }) => state === wanted).length;
      return count > 0 ? [`${count} ${wanted}`] : [];
    },
  );
  return `${title}: ${words.join(", ") || none}.`;
}
