export interface Refusal {
  readonly exit: number;
  readonly title: string;
  /** Why the tool stops here rather than going on. */
  readonly why: string;
  /** What the operator does next: one sentence. */
  readonly fix: string;
}
