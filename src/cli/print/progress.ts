import type { JsonObject } from "../../model/json.ts";
import { takeWidth, visible } from "../../report/text.ts";
import type { Environment } from "../../stages/surroundings.ts";
import { io, type Output } from "../io.ts";
import { createEvents, type Now, timestamp } from "./events.ts";
import { duration, measure, sentence } from "./rate.ts";
import { terminalOf } from "./terminal.ts";

export interface ProgressLine {
  /** What there is to do, once it is known, and what of it an earlier run had done. */
  readonly expect: (total: number, before: number) => void;
  /** So many more are done. @param detail what came of all so far, shown behind the figures */
  readonly tick: (more: number, detail?: string) => void;
  /** Something a person should know now: what is waited for, what was left out. */
  readonly note: (text: string) => void;
  /** The stage is complete. */
  readonly done: (summary: string) => void;
  readonly failed: () => void;
}

interface ProgressOptions {
  /** stderr: stdout is for the result. */
  readonly stream: Output;
  readonly stage: string;
  readonly total?: number | undefined;
  /** Milliseconds between two lines where no line can be drawn over. */
  readonly interval: number;
  /** Event lines instead of text. */
  readonly json: boolean;
  /** Nothing at all. */
  readonly quiet: boolean;
  readonly clock: Now;
  readonly env?: Environment;
}

/** Milliseconds between two drawings of the live line. */
const REDRAW = 100;
const SILENT: ProgressLine = { expect() {}, tick() {}, note() {}, done() {}, failed() {} };
const ERASE = "\r\x1b[2K";

/**
 * The progress of one stage: a live line on a terminal, otherwise a dated line each interval or
 * each 5 % (at most one a second), or event lines. It writes only when called and holds no timer.
 */
export function createProgress(options: ProgressOptions): ProgressLine {
  const { stream, stage, interval, json, quiet, clock, env = io().env } = options;
  if (quiet) return SILENT;
  const terminal = terminalOf(stream, env);
  const emit = createEvents(stream, clock);
  const live = terminal.live && !json;
  const began = clock();
  let last = { at: began, done: 0 };
  let { total } = options;
  let done = 0;
  let before = 0;
  let about: string | undefined;

  const line = (text: string): void => {
    const dated = live ? `${ERASE}${visible(text)}` : `${timestamp(clock())} ${visible(text)}`;
    stream.write(`${dated}\n`);
  };
  const say = (type: "stage_start" | "stage_complete", text: string, fields: JsonObject): void => {
    if (json) emit(type, { stage, ...fields });
    else if (!live || type === "stage_complete") line(`${stage}: ${text}`);
  };
  const show = (): void => {
    const evidence = measure(done, total, clock() - began, before);
    const words = `${stage}: ${sentence(evidence)}${about === undefined ? "" : `; ${about}`}`;
    if (json)
      emit("progress", { stage, ...evidence, ...(about !== undefined && { summary: about }) });
    else if (!live) line(words);
    else {
      const text = visible(words);
      stream.write(ERASE + takeWidth(text, Math.max(1, terminal.width() - 1)));
    }
    last = { at: clock(), done };
  };
  const due = (): boolean => {
    const waited = clock() - last.at;
    if (live) return waited >= REDRAW || last.done === 0;
    const step = total !== undefined && (done - last.done) * 20 >= total;
    return waited >= interval || (step && waited >= 1000);
  };

  say("stage_start", "started", total === undefined ? {} : { total });
  return {
    expect(all, earlier) {
      total = all;
      done += earlier - before;
      before = earlier;
      last = { at: last.at, done };
    },
    tick(more, detail) {
      done += more;
      about = detail;
      if (due()) show();
    },
    note(text) {
      if (json) emit("diagnostic", { severity: "note", stage, message: text });
      else line(`${stage}: ${text}`);
      if (live) show();
    },
    done(summary) {
      const elapsed = clock() - began;
      say("stage_complete", `${summary} (${duration(elapsed)})`, {
        result: "complete",
        done,
        elapsed_ms: elapsed,
        summary,
      });
    },
    failed() {
      const elapsed = clock() - began;
      say("stage_complete", `failed after ${done} (${duration(elapsed)})`, {
        result: "failed",
        done,
        elapsed_ms: elapsed,
      });
    },
  };
}
