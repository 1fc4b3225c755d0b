import type { LogFault } from "../lib/quotes.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { Trouble } from "../model/handover.ts";
import type { GuardPreview, UndoPreview } from "../model/preview.ts";

/** Machines that are done. @param rate machines a second, if the stage measures it; null if it is not known yet */
export type Progress = (machines: number, more?: string, rate?: number | null) => void;

/** What there is to do, once it is known; machines an earlier run did say nothing of the rate. */
export type Expect = (total: number, before: number) => void;

/** What stages list. */
export interface Lists {
  readonly verdicts: RowVerdict;
  readonly states: Trouble;
  readonly guards: GuardPreview;
  readonly undos: UndoPreview;
  readonly faults: LogFault & { readonly path: string };
}

type Things = AsyncIterable<One> | Iterable<One>;

/** One of several things that something became of. */
export interface One {
  readonly text: string;
  /** What it has in common with others. */
  readonly cause: string;
  /** Of its machine. */
  readonly bm_node_id?: number;
}

/** What a stage says while it works; who runs it shows it as it likes, or not at all. */
export interface Sink {
  /** A line beside the result. */
  readonly say: (text: string) => void;
  /** A line of the result. */
  readonly result: (text: string) => void;
  /** A line beside the result that nothing silences. */
  readonly note: (text: string) => void;
  /** A run begins one of its stages. @param takes how long it takes, where that is known */
  readonly stage: (stages: readonly string[], at: number, takes: string | null) => void;
  /** @throws MigrationError N2I-E303 if `confirm` could not ask */
  readonly askable: () => void;
  /** Asks, and throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<void>;
  /** Items of the result, as they come; a step that reads them ends in a few words. */
  readonly list: <K extends keyof Lists>(
    of: K,
    items: AsyncIterable<Lists[K]>,
    step?: { readonly title: string; readonly machines: number; readonly summary: () => string },
  ) => Promise<void>;
  /** Lines of the result, `Failed: ...` each; many are grouped by cause. */
  readonly several: (what: string, things: Things, every?: string) => Promise<void>;
  /** Runs a step whose progress is shown, and what came of it in a few words. */
  readonly during: <T>(
    title: string,
    machines: number | undefined,
    work: (progress: Progress, expect: Expect) => Promise<T>,
    summary: (result: T) => string,
  ) => Promise<T>;
}
