import { type Columns, viewer } from "../../lib/table/table.ts";
import type { BootRow, GuardPreview, UndoPreview } from "../../model/change.ts";
import type { Trouble } from "../../model/handover.ts";

export const guardsView = viewer<GuardPreview>(
  { Action: "action", UUID: "uuid", "BM ID": "bm_node_id", Fields: "fields", Why: "reason" },
  { causes: ["Action", "Fields", "Why"] },
);

export const undoView = viewer<UndoPreview>(
  { Action: "action", Resource: "resource", UUID: "uuid", "BM ID": "bm_node_id", Why: "reason" },
  { causes: ["Action", "Resource", "Why"] },
);

export const bootView = viewer<BootRow>(
  {
    ...{ UUID: "uuid", State: "state", Changes: ({ changes }) => changes.join(" ") },
    ...{ Why: "reason", "BM ID": "bm_node_id" },
  },
  { data: ["UUID", "State", "Changes", "Why"], causes: ["State", "Why"] },
);

/** @param none text for an empty list */
export function bootSummary(title: string, rows: readonly BootRow[], none: string): string {
  const counts = (["ready", "to stage", "staged", "undone", "stumbles", "left"] as const).flatMap(
    (label) => {
      const count = rows.filter(({ state }) => state === label).length;
      return count > 0 ? [`${count} ${label}`] : [];
    },
  );
  return `${title}: ${counts.join(", ") || none}.`;
}

const STATE: Columns<Trouble> = {
  ...{ UUID: "uuid", "BM ID": "bm_node_id", State: "state", Why: "reason", "What to do": "fix" },
};
const CAUSES = { causes: ["State", "Why", "What to do"] };

export const statesView = viewer<Trouble>(STATE, CAUSES);

/** With lines of the conductor logs. */
export const loggedView = viewer<Trouble>(
  { ...STATE, "Conductor Log": ({ log = [] }) => log.join("\n") },
  CAUSES,
);
