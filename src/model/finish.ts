/** How a node is guarded: the fields that finish clears. */
export interface Guards {
  readonly protected: boolean;
  readonly protected_reason: string | null;
  /** NULL: as the conductor's own setting has it. */
  readonly automated_clean: boolean | null;
}

/** What a node tells of its guards, and of who works on it. */
export interface Guarded extends Guards {
  readonly provision_state: string | null;
  readonly instance_uuid: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  /** Host of the conductor that works on it now. */
  readonly reservation: string | null;
  /** Whether a conductor has taken it over; null: the API does not tell. */
  readonly taken: boolean | null;
}

/** What became of a change: `again` when the node is no longer as it was seen, or is locked. */
export type Written = "done" | "again" | { readonly why: string };

/** How machines lose their guards, and get them back; every call speaks of node uuids. */
export interface Guard {
  /** Nodes that are not there are not in the answer. */
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, Guarded>>;
  /** Changes a node that is as seen and that no conductor works on. */
  readonly write: (uuid: string, seen: Guards, change: Partial<Guards>) => Promise<Written>;
}

/** Names its entries in the journal. */
export const FINISH = "finish";

/** The end of the window. */
export interface FinishState {
  /** When finish ended the run; null when it did not, or the run went on since. */
  readonly end: { readonly at: string; readonly by: string } | null;
  /** Whether this Ironic protects machines. */
  readonly guards: boolean;
}
