import type { Writable } from "node:stream";
import { MigrationError } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type FormatOptions, isColoured, type Screen, tableLimit } from "../../lib/table/format.ts";
import { renderObject, renderRows, type View } from "../../lib/table/table.ts";
import { io } from "../io.ts";

/**
 * Writes the chunks in order and waits whenever the reader is slower than we are. Chunks that are there already go
 * together: a call of the system for each line costs more than the line.
 *
 * Whose reader has gone hears no more of them, and they are gone through all the same: who acts still goes by them.
 *
 * @throws MigrationError N2I-E120 when the stream breaks
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
  let held = "";
  let isFull = false;
  const flush = (): void => {
    if (held !== "" && !out.destroyed) isFull = !out.write(held);
    held = "";
  };
  try {
    for await (const chunk of chunks) {
      // Comes round as soon as whoever gives the chunks has to wait.
      if (held === "") setImmediate(flush);
      held += chunk;
      if (held.length >= out.writableHighWaterMark || unread.has(out)) flush();
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

/** Pipes that nobody reads any more; a process's own streams keep no error. */
const unread = new WeakSet<Writable>();

/** Calls when the reader of this stream has gone, as in `nova2ironic show | head`. */
export function onUnread(stream: Writable, gone: () => void): void {
  stream.on("error", (error: Error & { code?: string }) => {
    if (error.code !== "EPIPE") return;
    unread.add(stream);
    gone();
  });
}

/**
 * Watches a stream that commands print to without waiting, such as a file on a disk that fills up; a reader that has
 * gone is `endOnLostReader`'s.
 *
 * @returns waits until all is out
 * @throws MigrationError N2I-E120, from what is returned, when some of it could not be written
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

/** Resolves when all that was written is out, or when the stream is destroyed. */
async function drained(out: Writable): Promise<void> {
  await new Promise<void>((resolve) => {
    out.write("", () => resolve());
  });
}

/**
 * @param view null: there is nothing to print
 * @throws MigrationError N2I-E100 when a column of the options does not exist, before any row is read
 */
export async function printView(view: View | null, options: FormatOptions): Promise<void> {
  if (view !== null) await writeAll(io().stdout, renderRows(view, options, screen()));
}

/** @throws MigrationError N2I-E100 when a field of the options does not exist */
export async function printObject(object: JsonObject, options: FormatOptions): Promise<void> {
  await writeAll(io().stdout, renderObject(object, options, screen()));
}

/** Columns that text may take; undefined for no limit. */
export function widthOf(options: FormatOptions): number | undefined {
  return tableLimit(options, screen());
}

export function screen(): Screen {
  const { stdout, env } = io();
  const seen = {
    env,
    ...(stdout.isTTY !== undefined && { isTTY: stdout.isTTY }),
    ...(stdout.columns !== undefined && { columns: stdout.columns }),
  };
  return { ...seen, colour: isColoured(seen) };
}
