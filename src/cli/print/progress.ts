import type { JsonObject } from "../../lib/json.ts";
import { takeWidth, visible } from "../../lib/table/text.ts";
import type { Environment } from "../../run/process-context.ts";
import type { Progress } from "../../run/sink.ts";
import { io, type Output } from "../io.ts";
import { createEvents, timestamp } from "./events.ts";

interface ProgressOptions {
  /** stderr, because stdout is for the result. */
  readonly stream: Output;
  readonly stage: string;
  readonly total?: number | undefined;
  /** Milliseconds between two lines without a terminal. */
  readonly interval: number;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly clock: () => number;
  readonly env?: Environment;
  /** Draws the text on a terminal, each time. */
  readonly draw?: ((text: string) => void) | undefined;
}

const REDRAW = 100;
const ERASE = "\r\x1b[2K";

/** Without a terminal, a line each interval or each 5 %, at most one a second. Has no timer. */
export function createProgress(options: ProgressOptions) {
  const { stream, stage, interval, json, quiet, clock, env = io().env, draw } = options;
  const terminal = terminalOf(stream, env);
  const emit = createEvents(stream, clock);
  const live = terminal.live && !json;
  const began = clock();
  let [last, moved] = [{ at: began, done: 0 }, began];
  let { total } = options;
  let done = 0;
  let before = 0;
  let about: string | undefined;
  let pace: number | null | undefined;

  const line = (text: string): void => {
    const dated = live ? `${ERASE}${visible(text)}` : `${timestamp(clock())} ${visible(text)}`;
    stream.write(`${dated}\n`);
  };
  const log = (type: "stage_start" | "stage_complete", text: string, fields: JsonObject): void => {
    if (quiet) return;
    if (json) emit(type, { stage, ...fields });
    else if (!live || type === "stage_complete") line(`${stage}: ${text}`);
  };
  const show = (): void => {
    const evidence = measure(done, total, clock() - began, before, { idle: clock() - moved, pace });
    const text = `${sentence(evidence, pace !== undefined)}${about === undefined ? "" : `; ${about}`}`;
    const message = `${stage}: ${text}`;
    if (draw !== undefined) draw(text);
    else if (json)
      emit("progress", { stage, ...evidence, ...(about !== undefined && { summary: about }) });
    else if (!live) line(message);
    else stream.write(ERASE + takeWidth(visible(message), Math.max(1, terminal.width() - 1)));
    last = { at: clock(), done };
  };
  const due = (): boolean => {
    const waited = clock() - last.at;
    if (quiet || draw !== undefined) return !quiet;
    if (live) return waited >= REDRAW || last.done === 0;
    const step = total !== undefined && (done - last.done) * 20 >= total;
    return waited >= interval || (step && waited >= 1000);
  };

  if (draw === undefined) log("stage_start", "started", total === undefined ? {} : { total });
  const at: Progress = (machines, detail, rate) => {
    if (machines > done) moved = clock();
    done = machines;
    [about, pace] = [detail, rate];
    if (due()) show();
  };
  return {
    at,
    /** Sets the total and the count of an earlier run. */
    expect(all: number, earlier: number): void {
      total = all;
      done = earlier;
      before = earlier;
      last = { at: last.at, done };
    },
    /** Prints a line if one is due, without new items. */
    pulse(): void {
      if (due()) show();
    },
    done(summary: string, interrupted = false) {
      if (draw !== undefined) return draw(summary);
      const elapsed = clock() - began;
      const result = interrupted ? "interrupted" : "complete";
      const fields = { result, done, elapsed_ms: elapsed, summary };
      const after = interrupted
        ? `, interrupted after ${duration(elapsed)}`
        : ` (${duration(elapsed)})`;
      log("stage_complete", `${summary}${after}`, fields);
    },
  };
}

export function terminalOf(stream: Output, env: Environment) {
  return {
    live: stream.isTTY === true && env.TERM !== "dumb" && stream.columns !== 0,
    /** Current columns of the screen; 80 if unknown. */
    width: () => stream.columns || 80,
  };
}

/** Milliseconds without a new item until that is shown. */
const IDLE = 2000;

/** Minimum milliseconds of measurement for an ETA. */
const EVIDENCE = 2000;

/**
 * The remaining time is withheld until 1 % and two seconds have passed, because operators plan
 * windows with it. It is at least the time since the last item.
 *
 * @param elapsed milliseconds since the stage began
 * @param before the part of `done` from an earlier run, ignored for the rate
 * @param pace the rate as the stage measured it; null if not yet known
 */
export function measure(
  done: number,
  total: number | undefined,
  elapsed: number,
  before = 0,
  { idle = 0, pace }: { readonly idle?: number; readonly pace?: number | null | undefined } = {},
) {
  const since = done - before;
  const rate = pace === undefined ? (elapsed > 0 ? (since * 1000) / elapsed : null) : pace;
  const precision = pace === undefined ? 10 : 1000;
  const hasTotal = total !== undefined && total > 0;
  const isMeasurable = hasTotal && (pace !== undefined || since * 100 >= total - before);
  const isReliable = isMeasurable && rate !== null && rate > 0 && elapsed >= EVIDENCE;
  const isUnfinished = total === undefined || done < total;
  const silent = isUnfinished && idle >= IDLE ? Math.floor(idle / 1000) : 0;
  return {
    done,
    total: total ?? null,
    percent: hasTotal ? Math.min(100, Math.floor((done * 100) / total)) : null,
    /** Per second. */
    rate: rate === null ? null : Math.round(rate * precision) / precision,
    eta: isReliable ? Math.max(0, Math.ceil((total - done) / rate), silent) : null,
    /** Seconds since the last item, if more than two. */
    ...(silent > 0 && { idle: silent }),
  };
}

/** `1200 of 5000 (24 %), 310/s, ETA 13 s`. @param slow shows machines per minute */
export function sentence(
  { done, total, percent, rate, eta, idle }: ReturnType<typeof measure>,
  slow = false,
): string {
  const perSecond = rate !== null && rate >= 10 ? Math.round(rate) : rate;
  const each = slow ? `${Math.round((rate ?? 0) * 60)} a minute` : `${perSecond}/s`;
  const outstanding = total === null ? "" : `${total - done} outstanding, `;
  return [
    total === null ? `${done}` : `${done} of ${total}`,
    percent === null ? "" : ` (${percent} %)`,
    rate === null ? "" : `, ${each}`,
    eta === null ? "" : `, ETA ${duration(eta * 1000)}`,
    idle === undefined ? "" : `; ${outstanding}none done for ${idle} s`,
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

const stages = new WeakMap<object, (readonly [title: string, took: number])[]>();

export function took(title: string, milliseconds: number): void {
  const ended = stages.get(io()) ?? [];
  ended.push([title, milliseconds]);
  stages.set(io(), ended);
}

/** The duration of each stage for `-v`; null without stages. */
export function tookText(): string | null {
  const ended = stages.get(io()) ?? [];
  if (ended.length === 0) return null;
  return `Took: ${ended.map(([title, time]) => `${title} ${duration(time)}`).join(", ")}.`;
}
