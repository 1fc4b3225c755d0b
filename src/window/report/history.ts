import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { HAND_OVER } from "../../model/handover.ts";
import { batchesOf, type Entries, entriesOf, IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import { parseObject } from "../../run/files/artefact-form.ts";
import { readWindow } from "../../run/files/window-file.ts";
import { COMMANDS } from "../../run/stages.ts";
import { readRehearsal } from "../rehearse/rehearsal-file.ts";
import type { Measured, RanCommand } from "./rules/window.ts";

/** A report lists at most this many of the newest commands. */
const MAX_COMMANDS = 200;
/** A session ends after this many milliseconds without an entry. */
const PAUSE = 15 * 60_000;

/** Durations of this run, from its log, migration record and journal. */
export async function measuredOf(run: string, entries: Entries): Promise<Measured> {
  const [commands, recorded] = [await ranIn(run), await inWindow(run)];
  const isLogged = (one: RanCommand): boolean => commands.some((other) => covers(other, one));
  const ran = [...commands, ...recorded.filter((one) => !isLogged(one))]
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .slice(-MAX_COMMANDS);
  const rehearsal = await readRehearsal({ path: run });
  const rehearsed = rehearsal?.loaded && { ...rehearsal.loaded, nova: rehearsal.nova };
  return {
    ...{ ran, loaded: loadedIn(entries), handed: handedIn(entries) },
    ...(rehearsed && { rehearsed }),
  };
}

/** The commands of a run, from its log. Empty if it is missing. */
async function ranIn(run: string): Promise<readonly RanCommand[]> {
  const path = join(run, "log.jsonl");
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return [];
  if (!(await file.stat()).isFile()) return file.close().then(() => []);
  const ran: RanCommand[] = [];
  /** Commands without an end, by process. Several processes may write, and one may be killed. */
  const running = new Map<string, RanCommand>();
  for await (const line of file.readLines()) {
    const fact = parseObject(line);
    if (fact?.type !== "begin" && fact?.type !== "end") continue;
    const pid = String(fact.pid);
    const last = running.get(pid);
    if (last !== undefined) ran.push(fact.type === "end" ? ended(last, fact) : last);
    running.delete(pid);
    if (fact.type === "begin") running.set(pid, ranCommandOf(fact));
    if (ran.length > MAX_COMMANDS) ran.shift();
  }
  // This command has not ended either.
  running.delete(String(process.pid));
  return [...ran, ...running.values()].filter(({ command }) => command !== "");
}

/** An option that changes the effect of a command. */
const OTHER_WORK = / --(plan|undo|takeover|final)(?= |$)/;

function ranCommandOf({ command, ts, by }: JsonObject): RanCommand {
  const [, name = ""] = /^nova2ironic (?:-\S+ )*([a-z]+)/.exec(String(command)) ?? [];
  const [, option] = OTHER_WORK.exec(String(command)) ?? [];
  return {
    ...{ command: option === undefined ? name : `${name} --${option}`, at: String(ts) },
    ...{ seconds: null, status: null, result: "no end recorded", by: String(by) },
  };
}

function ended(started: RanCommand, { ts, status, name }: JsonObject): RanCommand {
  const took = (Date.parse(String(ts)) - Date.parse(started.at)) / 1000;
  return {
    ...{ ...started, seconds: took >= 0 ? took : null },
    status: typeof status === "number" ? status : null,
    result: typeof name === "string" ? name : "",
  };
}

/** Start, end and stages in the migration record, including stages of `run`. */
async function inWindow(path: string): Promise<readonly RanCommand[]> {
  const recorded: RanCommand[] = [];
  const running = new Map<string, RanCommand>();
  for (const { do: what, at, by, stage = "", result = "" } of await readWindow({ path })) {
    const one = { at, by, seconds: null, status: null, result };
    if (what === "open" || what === "close")
      recorded.push({ ...one, command: what === "open" ? "window opens" : "window closes" });
    if (what === "begin") running.set(stage, { ...one, command: COMMANDS[stage] ?? stage });
    const from = what === "end" ? running.get(stage) : undefined;
    if (from === undefined) continue;
    running.delete(stage);
    const seconds = result === "done" ? (Date.parse(at) - Date.parse(from.at)) / 1000 : null;
    recorded.push({ ...from, seconds, result });
  }
  return recorded;
}

/** Whether the log already has a stage of the record, which has no options. */
function covers(command: RanCommand, { command: stage, at }: RanCommand): boolean {
  const [name, recorded] = [command.command, stage].map((text) => text.split(" ")[0]);
  const from = Date.parse(command.at);
  const to = from + (command.seconds ?? 0) * 1000;
  return name === recorded && Date.parse(at) >= from && Date.parse(at) <= to;
}

/** Rows that apply wrote to Ironic and Nova, and the duration of its batches. */
export function loadedIn(entries: Entries): Measured["loaded"] {
  let [count, took, open, since] = [0, 0, 0, 0];
  let by = "";
  for (const entry of batchesOf(entries, IRONIC, ...NOVA_NAMES)) {
    const at = Date.parse(entry.at);
    if (entry.do === "begin") {
      // A batch of another process did not end.
      if (entry.by !== by) open = 0;
      // Batches overlap: one begins while the previous one is written.
      if (open === 0) since = at;
      [open, by] = [open + 1, entry.by];
    }
    if (entry.do !== "done" && entry.do !== "aborted") continue;
    open = Math.max(0, open - 1);
    if (entry.do === "done") {
      took += Math.max(0, at - since);
      count += entry.created;
    }
    since = at;
  }
  return count > 0 ? { count, seconds: took / 1000 } : null;
}

/** Machines that were taken over, and the time from first to last in each session. */
function handedIn(entries: Entries): Measured["handed"] {
  let [count, took, last] = [0, 0, Number.NaN];
  for (const entry of entriesOf(entries, HAND_OVER)) {
    const at = Date.parse(entry.at);
    if (at - last < PAUSE) took += Math.max(0, at - last);
    last = at;
    if (entry.do === "end") count += 1;
  }
  return count > 0 ? { count, seconds: took / 1000 } : null;
}
