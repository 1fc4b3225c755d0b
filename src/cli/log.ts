import type { JsonObject } from "../lib/json.ts";
import { shellWord } from "../lib/text.ts";
import { appendRunLog } from "../run/files/run-log.ts";
import { withoutSecret } from "../run/next.ts";
import { surroundings } from "../run/process-context.ts";
import { VERSION, whoami } from "../run/version.ts";
import { type Io, io } from "./io.ts";

/** What a command has said so far that its run does not know yet. */
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
