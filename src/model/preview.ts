export interface GuardPreview {
  readonly action: "clear" | "leave" | "keep" | "miss" | "protect";
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly fields: string;
  readonly reason: string;
}

export interface UndoPreview {
  readonly action: "remove" | "restore" | "leave";
  readonly resource: string;
  /** For a Nova row, its key. */
  readonly uuid: string;
  readonly bm_node_id: number | null;
  readonly reason: string | null;
}

export interface BootRow {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly state: "ready" | "staged" | "to stage" | "left" | "undone" | "stumbles";
  readonly changes: readonly string[];
  readonly reason: string | null;
}
