/** What is said of changes while they are made, so that after a crash nobody doubts whose they are. */
export interface Observed {
  /** Made now, or about to be. */
  readonly done?: readonly string[];
  /** There already. */
  readonly found?: readonly string[];
  /** None is there by our hand: the service did not take them. */
  readonly refused?: readonly string[];
}

/** What is asked of whoever lets a part act. */
export interface Hooks {
  /** Whether this run made the change before: one that differs then is left, not held against the plan. */
  readonly owned: (id: string) => boolean;
  /** Whether a machine came to its end once: what differs now was changed since. */
  readonly ended: (machine: string) => boolean;
  /** Runs before anything is written, inside the transaction where there is one; what it throws stops it. */
  readonly precondition: () => Promise<void>;
  /** Written to the journal before it resolves; called right before changes are kept. */
  readonly observed: (observed: Observed) => Promise<void>;
}
