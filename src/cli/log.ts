import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../lib/json.ts";
import { shellArgument } from "../lib/text.ts";
import { withoutSecret } from "../run/next.ts";
import { processContext } from "../run/process-context.ts";
import { VERSION, whoami } from "../run/version.ts";
import { type Io, io } from "./io.ts";

const logs = new WeakMap<Io, { readonly run: string; lines: string[] }>();

/**
 * Logs the command in `RUN/log.jsonl`, without secrets. One fact per line; `v` is the version of
 * the format. A folder that is no run of this user is not changed. If `extract` creates the folder,
 * it receives the lines so far.
 */
export function logTo(run: string): void {
  const argv = io().argv.map((arg) => shellArgument(masked(arg)));
  const connections = [...processContext().connections].map(([name, value]) => [
    name,
    [value]
      .flat()
      .map((one) => masked(String(one)))
      .join(" "),
  ]);
  logs.set(io(), { run, lines: [] });
  log("begin", {
    ...{ command: ["nova2ironic", ...argv].join(" "), tool: VERSION, by: whoami() },
    ...(connections.length > 0 && { connections: Object.fromEntries(connections) }),
  });
}

/** Also masks passwords in an address whose beginning is missing. */
function masked(text: string): string {
  const clean = withoutSecret(text);
  return /:\/\/[^:@]*@[^@]*$/.test(clean) ? clean : clean.replace(/:.*@/s, ":***@");
}

/** Adds a line if the command has a run. Write errors are ignored. */
export function log(type: "begin" | "said" | "refused" | "end", fields: JsonObject): void {
  const current = logs.get(io());
  if (current === undefined) return;
  const line = { v: 1, ts: new Date().toISOString(), pid: process.pid, type, ...fields };
  current.lines.push(`${JSON.stringify(line)}\n`);
  if (appendRunLog(current.run, current.lines.join(""))) current.lines = [];
}

/** Either of these files identifies a run. */
const OF_RUN: readonly string[] = ["snapshot.jsonl", "run.lock"];

/**
 * Synchronous, because the process may be killed next. Errors are ignored, because the run may be
 * read-only.
 *
 * @returns whether the lines can be dropped: they were written, or can never be written
 */
function appendRunLog(run: string, lines: string): boolean {
  try {
    const found = statSync(run, { throwIfNoEntry: false });
    if (found === undefined) return false;
    if (found.uid !== (process.getuid?.() ?? found.uid) || (found.mode & 0o077) !== 0) return true;
    if (!OF_RUN.some((name) => existsSync(join(run, name)))) return false;
    const how = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const file = openSync(join(run, "log.jsonl"), how | constants.O_NONBLOCK, 0o600);
    try {
      if (fstatSync(file).isFile()) writeSync(file, lines);
    } finally {
      closeSync(file);
    }
  } catch {
    // The command reports a full or read-only disk itself.
  }
  return true;
}
