import type { LogFault } from "../lib/quotes.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { GuardPreview, UndoPreview } from "../model/change.ts";
import type { Trouble } from "../model/handover.ts";

/** @param rate machines per second, if measured. Null if not known yet */
export type Progress = (machines: number, more?: string, rate?: number | null) => void;

/** Total of machines, and those of an earlier run, which do not count for the rate. */
export type Expect = (total: number, before: number) => void;

/** Lists of stages. */
export interface Lists {
  readonly verdicts: RowVerdict;
  readonly states: Trouble;
  readonly guards: GuardPreview;
  readonly undos: UndoPreview;
  readonly faults: LogFault & { readonly path: string };
}

/** The same output without lists. The verdicts of listed rows go to `each`. */
export function verdictsTo(sink: Sink, each: (verdict: RowVerdict) => void): Sink {
  return {
    ...sink,
    async list(of, items) {
      // Only a list of verdicts has verdicts.
      for await (const item of items) if (of === "verdicts") each(item as RowVerdict);
    },
  };
}

type Things = AsyncIterable<One> | Iterable<One>;

/** One of several results. */
export interface One {
  readonly text: string;
  /** Cause to group by. */
  readonly cause: string;
  /** bm_nodes.id of its machine. */
  readonly bm_node_id?: number;
}

/** Output of a stage. The caller decides how to show it. */
export interface Sink {
  /** A line that is not part of the result. */
  readonly report: (text: string) => void;
  /** A line of the result. */
  readonly result: (text: string) => void;
  /** A line that is not part of the result, and is never suppressed. */
  readonly note: (text: string) => void;
  /** A run starts a stage. @param takes duration, if known */
  readonly stage: (stages: readonly string[], at: number, takes: string | null) => void;
  /** @throws MigrationError N2I-E303 if `confirm` could not ask */
  readonly askable: () => void;
  /** Throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<void>;
  /** Streams items of the result, with a short summary of the step that reads them. */
  readonly list: <K extends keyof Lists>(
    of: K,
    items: AsyncIterable<Lists[K]>,
    step?: { readonly title: string; readonly machines: number; readonly summary: () => string },
  ) => Promise<void>;
  /** Result lines, `Failed: ...` each. Many are grouped by cause. */
  readonly several: (what: string, things: Things, every?: string) => Promise<void>;
  /** Runs a step with a progress display and a short summary. */
  readonly during: <T>(
    title: string,
    machines: number | undefined,
    work: (progress: Progress, expect: Expect) => Promise<T>,
    summary: (result: T) => string,
  ) => Promise<T>;
}

/** Runs a step without a display. */
export const silently: Sink["during"] = (_title, _machines, work) =>
  work(
    () => undefined,
    () => undefined,
  );
