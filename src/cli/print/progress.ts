import type { JsonObject } from "../../lib/json.ts";
import { takeWidth, visible } from "../../lib/table/text.ts";
import type { Environment } from "../../run/process-context.ts";
import type { Expect, Progress } from "../../run/sink.ts";
import { io, type Output } from "../io.ts";
import { createEvents, type Now, timestamp } from "./events.ts";

export interface ProgressLine {
  /** What there is to do, once it is known, and what of it an earlier run had done. */
  readonly expect: Expect;
  /** So many are done, with those of an earlier run. */
  readonly at: Progress;
  /** Nothing has come yet: says so where a line is due. */
  readonly pulse: () => void;
  /** The stage has ended. */
  readonly done: (summary: string, interrupted?: boolean) => void;
}

interface ProgressOptions {
  /** stderr: stdout is for the result. */
  readonly stream: Output;
  readonly stage: string;
  readonly total?: number | undefined;
  /** Milliseconds between two lines where no line can be drawn over. */
  readonly interval: number;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly clock: Now;
  readonly env?: Environment;
}

/** Milliseconds between two drawings of the live line. */
const REDRAW = 100;
const SILENT: ProgressLine = { expect() {}, at() {}, pulse() {}, done() {} };
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
  let [last, came] = [{ at: began, done: 0 }, began];
  let { total } = options;
  let done = 0;
  let before = 0;
  let about: string | undefined;
  let own: number | null | undefined;

  const line = (text: string): void => {
    const dated = live ? `${ERASE}${visible(text)}` : `${timestamp(clock())} ${visible(text)}`;
    stream.write(`${dated}\n`);
  };
  const say = (type: "stage_start" | "stage_complete", text: string, fields: JsonObject): void => {
    if (json) emit(type, { stage, ...fields });
    else if (!live || type === "stage_complete") line(`${stage}: ${text}`);
  };
  const show = (): void => {
    const evidence = measure(done, total, clock() - began, before, { idle: clock() - came, own });
    const words = `${stage}: ${sentence(evidence, own !== undefined)}${about === undefined ? "" : `; ${about}`}`;
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
      done = earlier;
      before = earlier;
      last = { at: last.at, done };
    },
    at(machines, detail, rate) {
      if (machines > done) came = clock();
      done = machines;
      [about, own] = [detail, rate];
      if (due()) show();
    },
    pulse() {
      if (due()) show();
    },
    done(summary, interrupted = false) {
      const elapsed = clock() - began;
      const result = interrupted ? "interrupted" : "complete";
      const fields = { result, done, elapsed_ms: elapsed, summary };
      const after = interrupted
        ? `, interrupted after ${duration(elapsed)}`
        : ` (${duration(elapsed)})`;
      say("stage_complete", `${summary}${after}`, fields);
    },
  };
}

/**
 * What a stream can show.
 *
 * @param env TERM=dumb forbids every control code; colours (NO_COLOR) are listr2's alone
 */
export function terminalOf(stream: Output, env: Environment) {
  return {
    /** Whether a line may be drawn over again; never in a file, on a dumb terminal or on one without columns. */
    live: stream.isTTY === true && env.TERM !== "dumb" && stream.columns !== 0,
    /** Columns of the screen now; 80 where it will not say. */
    width: () => stream.columns || 80,
  };
}

/** How far a stage is. Null where there is no evidence yet. */
type Evidence = {
  readonly done: number;
  readonly total: number | null;
  /** Whole percent, rounded down. */
  readonly percent: number | null;
  /** Per second. */
  readonly rate: number | null;
  /** Seconds still to go. */
  readonly eta: number | null;
  /** Seconds since one was done, where that is more than a moment. */
  readonly idle?: number;
};

/** What is known of the time since the last one was done. */
interface Since {
  /** Milliseconds. */
  readonly idle?: number;
  /** The rate as the stage itself measured it; null where it does not know it yet. */
  readonly own?: number | null | undefined;
}

/** Milliseconds without one that is done before that is said. */
const IDLE = 2000;

/** Milliseconds a rate must have been seen before anything is foretold from it. */
const EVIDENCE = 2000;

/**
 * The rate since the beginning, and when the stage will end. The end is withheld until 1 % and two
 * seconds are behind us: a forecast from less is a guess, and operators plan windows by it.
 *
 * @param elapsed milliseconds since the stage began
 * What takes long comes last: the end is no nearer than the last one done is past.
 *
 * @param before of `done`, what an earlier run had done: it says nothing of this one's rate
 */
export function measure(
  done: number,
  total: number | undefined,
  elapsed: number,
  before = 0,
  { idle = 0, own }: Since = {},
): Evidence {
  const since = done - before;
  const sofar = elapsed > 0 ? (since * 1000) / elapsed : null;
  const rate = own === undefined ? sofar : own;
  const known = total !== undefined && total > 0;
  const seen = known && (own !== undefined || since * 100 >= total - before);
  const silent = (goesOn: boolean): number =>
    goesOn && idle >= IDLE ? Math.floor(idle / 1000) : 0;
  const precision = own === undefined ? 10 : 1000;
  const isKnown = seen && rate !== null && rate > 0 && elapsed >= EVIDENCE;
  return {
    done,
    total: total ?? null,
    percent: known ? Math.min(100, Math.floor((done * 100) / total)) : null,
    rate: rate === null ? null : Math.round(rate * precision) / precision,
    eta: isKnown ? Math.max(0, Math.ceil((total - done) / rate), silent(done < total)) : null,
    ...(silent(total === undefined || done < total) > 0 && { idle: silent(true) }),
  };
}

function ofSecond(rate: number): string {
  return `${rate < 10 ? rate : Math.round(rate)}/s`;
}

function outstanding(done: number, total: number | null): string {
  return total === null ? "" : `${total - done} outstanding, `;
}

/** `1200 of 5000 (24 %), 310/s, ETA 13 s`. @param slow machines a minute instead */
export function sentence(
  { done, total, percent, rate, eta, idle }: Evidence,
  slow = false,
): string {
  const each = slow ? `${Math.round((rate ?? 0) * 60)} a minute` : ofSecond(rate ?? 0);
  return [
    total === null ? `${done}` : `${done} of ${total}`,
    percent === null ? "" : ` (${percent} %)`,
    rate === null ? "" : `, ${each}`,
    eta === null ? "" : `, ETA ${duration(eta * 1000)}`,
    idle === undefined ? "" : `; ${outstanding(done, total)}none done for ${idle} s`,
  ].join("");
}

/** `0.2 s`, `42 s`, `3 min 05 s`, `2 h 07 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  const two = (part: number): string => String(part).padStart(2, "0");
  if (minutes === 0) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
