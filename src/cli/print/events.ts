import type { Writable } from "node:stream";
import type { JsonObject } from "../../lib/json.ts";
import { io, isForMachines } from "../io.ts";
import { log } from "../log.ts";

/** New types may be added. Consumers ignore unknown types. */
type EventType =
  | ("stage_start" | "progress" | "item" | "stage_complete")
  | ("diagnostic" | "notice" | "exit");

/** Event lines for `--json`: one JSON object per line; `v` is the version of the format. */
export function createEvents(stream: Writable, now: () => number = Date.now) {
  return (type: EventType, fields: JsonObject): void => {
    stream.write(`${JSON.stringify({ v: 1, ts: timestamp(now()), type, ...fields })}\n`);
  };
}

/** ISO 8601, UTC, to the second. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

export function waiting(text: string): void {
  if (!io().argv.some((arg) => arg === "-q" || arg === "--quiet")) printNotice(text);
}

export function printNotice(text: string): void {
  log("said", { text: text.trim() });
  const { stderr } = io();
  if (isForMachines()) createEvents(stderr)("notice", { text });
  else stderr.write(`${text}\n`);
}
