/** What finish would do with a machine, as a preview shows it. */
export interface GuardPreview {
  readonly action: "clear" | "leave" | "keep" | "miss" | "protect";
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly fields: string;
  readonly why: string;
}

/** What a rollback would do with a row, as a preview shows it. */
export interface UndoPreview {
  readonly action: "remove" | "restore" | "leave";
  readonly resource: string;
  /** Of a row of Nova, what tells it from others. */
  readonly uuid: string;
  readonly bm_node_id: number | null;
  readonly why: string | null;
}

/** What becomes of one machine's boot files. */
export interface BootRow {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly state: "ready" | "staged" | "to stage" | "left" | "undone" | "stumbles";
  readonly changes: readonly string[];
  readonly why: string | null;
}
