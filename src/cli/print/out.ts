import type { Writable } from "node:stream";
import { MigrationError } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type FormatOptions, isColoured, type Screen, tableLimit } from "../../lib/table/format.ts";
import { matching } from "../../lib/table/match.ts";
import { renderObject, renderRows, type View } from "../../lib/table/table.ts";
import { io } from "../io.ts";

/**
 * Waits for a slow reader. Available chunks are written together, because a system call costs more
 * than a line. If the reader ends, the chunks are still consumed: the caller's work depends on it.
 *
 * @throws MigrationError N2I-E120 if the stream breaks
 */
export async function writeAll(
  out: Writable,
  chunks: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  let broken: unknown;
  const onError = (cause: unknown): void => {
    broken = cause;
  };
  out.on("error", onError);
  const check = (): void => {
    if (unread.has(out)) return;
    if (broken !== undefined || out.destroyed)
      throw new MigrationError("N2I-E120", "the output cannot be written", { cause: broken });
  };
  let buffered = "";
  let isFull = false;
  const flush = (): void => {
    if (buffered !== "" && !out.destroyed) isFull = !out.write(buffered);
    buffered = "";
  };
  try {
    for await (const chunk of chunks) {
      // Runs as soon as the source of the chunks waits.
      if (buffered === "") setImmediate(flush);
      buffered += chunk;
      if (buffered.length >= out.writableHighWaterMark || unread.has(out)) flush();
      if (isFull) await drained(out);
      isFull = false;
      check();
    }
    flush();
    await drained(out);
    check();
  } finally {
    flush();
    out.off("error", onError);
  }
}

/** Pipes whose reader has ended. The process's own streams keep no error. */
const unread = new WeakSet<Writable>();

/** Calls back when the reader of this stream has ended, as in `nova2ironic show | head`. */
export function onUnread(stream: Writable, onEnd: () => void): void {
  stream.on("error", (error: Error & { code?: string }) => {
    if (error.code !== "EPIPE") return;
    unread.add(stream);
    onEnd();
  });
}

/**
 * For output without waiting. `endOnLostReader` handles an ended reader.
 *
 * @returns waits until everything is written; throws N2I-E120 if a write failed
 */
export function onLost(stream: Writable): () => Promise<void> {
  let cause: unknown;
  stream.on("error", (error) => {
    cause ??= error;
  });
  return async () => {
    if (!stream.destroyed) await drained(stream);
    if (cause !== undefined && !unread.has(stream))
      throw new MigrationError("N2I-E120", "the output cannot be written", {
        cause,
        fix: "Free space for the output, then run the same command again.",
      });
  };
}

async function drained(out: Writable): Promise<void> {
  await new Promise<void>((resolve) => {
    out.write("", () => resolve());
  });
}

/** @throws MigrationError N2I-E100 for an unknown column, before any row is read */
export async function printView(view: View | null, options: FormatOptions): Promise<void> {
  if (view !== null) await writeAll(io().stdout, renderRows(view, options, screen()));
}

/** @throws MigrationError N2I-E100 for an unknown field */
export async function printObject(object: JsonObject, options: FormatOptions): Promise<void> {
  await writeAll(io().stdout, renderObject(object, options, screen()));
}

/** Width in columns; undefined for no limit. */
export function widthOf(options: FormatOptions): number | undefined {
  return tableLimit(options, screen());
}

export function screen(): Screen {
  const { stdout, env } = io();
  const terminal = {
    env,
    ...(stdout.isTTY !== undefined && { isTTY: stdout.isTTY }),
    ...(stdout.columns !== undefined && { columns: stdout.columns }),
  };
  return { ...terminal, colour: isColoured(terminal) };
}

/** Whether `matching` accepts the condition. */
export function isMatchable(columns: readonly string[], condition: string): boolean {
  try {
    matching(columns, [condition]);
    return true;
  } catch {
    return false;
  }
}

/** Drops options for another list, which must not stop the command after its changes. */
export function optionsFor<T extends FormatOptions>(columns: readonly string[], options: T) {
  const { match = [], column = [], sortColumn = [] } = options;
  const has = (name: string): boolean => columns.includes(name);
  const takes = (condition: string): boolean => isMatchable(columns, condition);
  const without = [
    ...match.filter((condition) => !takes(condition)).map((condition) => `--match ${condition}`),
    ...column.filter((name) => !has(name)).map((name) => `-c ${name}`),
    ...sortColumn.filter((name) => !has(name)).map((name) => `--sort-column ${name}`),
  ];
  const matches = { match: match.filter(takes), column: column.filter(has) };
  return { options: { ...options, ...matches, sortColumn: sortColumn.filter(has) }, without };
}
