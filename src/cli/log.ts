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
import { shellWord } from "../lib/text.ts";
import { withoutSecret } from "../run/next.ts";
import { surroundings } from "../run/process-context.ts";
import { VERSION, whoami } from "../run/version.ts";
import { type Io, io } from "./io.ts";

interface Log {
  readonly run: string;
  lines: string[];
}

const logs = new WeakMap<Io, Log>();

/**
 * From here on the command under way is written down in `RUN/log.jsonl`: its words without secrets,
 * what it said, what refused it, how it ended. A line a fact; `v` is the version of the form.
 *
 * A folder that is no run of this user's is left alone; one that `extract` makes gets the lines that wait.
 */
export function logTo(run: string): void {
  const words = io().words.map((word) => shellWord(masked(word)));
  const connections = [...surroundings().connections].map(([name, word]) => [
    name,
    [word]
      .flat()
      .map((one) => masked(String(one)))
      .join(" "),
  ]);
  logs.set(io(), { run, lines: [] });
  log("begin", {
    ...{ command: ["nova2ironic", ...words].join(" "), tool: VERSION, by: whoami() },
    ...(connections.length > 0 && { connections: Object.fromEntries(connections) }),
  });
}

/** A word without what may be a password, also in an address that lacks its beginning. */
function masked(word: string): string {
  const whole = withoutSecret(word);
  return /:\/\/[^:@]*@[^@]*$/.test(whole) ? whole : whole.replace(/:.*@/s, ":***@");
}

/** Adds a line; nothing where the command has no run. What cannot be written is not worth a failure. */
export function log(type: "begin" | "said" | "refused" | "end", fields: JsonObject): void {
  const own = logs.get(io());
  if (own === undefined) return;
  const line = { v: 1, ts: new Date().toISOString(), pid: process.pid, type, ...fields };
  own.lines.push(`${JSON.stringify(line)}\n`);
  if (appendRunLog(own.run, own.lines.join(""))) own.lines = [];
}

const NAME = "log.jsonl";
/** What a folder has that is a run. */
const OF_RUN: readonly string[] = ["snapshot.jsonl", "run.lock"];

/**
 * Adds lines to the log of a run, at once: what comes later may kill the process. Whoever looks at a
 * run may have a copy of it, or no right to write there, so that nothing of this is a failure.
 *
 * @returns whether they need not be kept: written, or never to be written
 */
function appendRunLog(run: string, lines: string): boolean {
  const here = isOwnRun(run);
  if (here !== true) return here === "never";
  try {
    const how = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const file = openSync(join(run, NAME), how | constants.O_NONBLOCK, 0o600);
    try {
      if (fstatSync(file).isFile()) writeSync(file, lines);
    } finally {
      closeSync(file);
    }
  } catch {
    // A full or read-only disk: what the command does there says so itself.
  }
  return true;
}

function isOwnRun(run: string): boolean | "never" {
  try {
    const { uid, mode } = statSync(run);
    if (uid !== (process.getuid?.() ?? uid) || (mode & 0o077) !== 0) return "never";
    return OF_RUN.some((name) => existsSync(join(run, name)));
  } catch {
    return false;
  }
}
