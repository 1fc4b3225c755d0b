/** Machines behind us, and what else there is to say of them. */
export type Progress = (machines: number, more?: string) => void;

/** What a stage says while it works; who runs it shows it as it likes, or not at all. */
export interface Sink {
  /** A line beside the result. */
  readonly say: (text: string) => void;
  /** A line of the result. */
  readonly told: (text: string) => void;
  /** A line beside the result that nothing silences. */
  readonly note: (text: string) => void;
  /** Asks, and throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<void>;
  /** Runs a step whose progress is shown, and what came of it in a few words. */
  readonly during: <T>(
    title: string,
    machines: number | undefined,
    work: (progress: Progress) => Promise<T>,
    summary: (result: T) => string,
  ) => Promise<T>;
}
