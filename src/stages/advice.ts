import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openRun, type RunFolder } from "../edge/disk/run-folder.ts";
import { retirementOf } from "../model/archive.ts";
import { isObject, parsedJson } from "../model/json.ts";
import { shellWord } from "../model/text.ts";
import { wordsOf } from "./given.ts";
import { type Figure, handoverFigure, type RunStage, stageOf, UNDONE_BY, WHY } from "./journey.ts";
import { loadFigure } from "./load-figure.ts";
import { nextCommand } from "./next.ts";
import { isDecision, nextOf, stepOf } from "./pipeline.ts";
import type { RunFiles } from "./run-files.ts";
import { filesOf } from "./run-state.ts";
import { isWindowClosed, readWindow } from "./window-file.ts";

/** The one next step of a run, in words. */
export interface Advice {
  readonly next: string;
  readonly why: string;
  readonly takes: string;
  readonly undo: string;
}

const NOTHING = "nothing: it writes to no database";
const DONE: Advice = {
  ...{ next: "nothing", why: "this run is done", takes: "0 s" },
  undo: "rollback --after-finish, while machines are as they were loaded",
};

/** @throws MigrationError N2I-E110 */
export async function advice(path: string): Promise<Advice> {
  const run = await openRun(path, { create: false });
  const { files } = await filesOf(run, { run: path });
  const step = stepOf(files);
  const closed = await isWindowClosed(run);
  if (step === null) return within(closed, path, doneOf(files));
  const { after: _after, note, ...bare } = step;
  const stage = stageOf(step);
  if (stage === null)
    return { next: nextOf(files), why: note ?? "", takes: "not known", undo: NOTHING };
  const figure = figureOf(files, stage) ?? (await tookBefore(run, stage));
  const undone = UNDONE_BY[stage];
  return within(undone !== null && closed, path, {
    next: wordsOf(bare, files.said, files.handover !== null),
    why: note !== undefined && isDecision(step) ? `${note}. ${WHY[stage]}` : WHY[stage],
    takes:
      figure === null
        ? "not known: this run has not done it yet"
        : `about ${lasting(figure.seconds)} (${figure.from})`,
    undo: undone === null ? NOTHING : undoing(undone, path),
  });
}

/** What takes back writes, and is refused until the window is open again. */
function within(closed: boolean, run: string, { undo, ...advice }: Advice): Advice {
  const open = `nova2ironic window open --run ${shellWord(run)}`;
  return { ...advice, undo: closed ? `${open}, then ${undo}` : undo };
}

/** Whoever archived nova_bm is told when it may go, and what brings it back once it went. */
function doneOf(files: RunFiles): Advice {
  if ("missing" in files.journal) return DONE;
  const { archive, begun } = retirementOf(files.journal.entries);
  if (archive === null) return DONE;
  const next = nextOf(files);
  const why = begun.size > 0 ? "nova_bm is dropped" : "this run is done, and nova_bm archived";
  const undo = begun.size > 0 ? "retire --restore DB, then rollback --after-finish" : DONE.undo;
  return { next, why, takes: "not known", undo };
}

function undoing(undone: "rollback" | "handover" | "finish", run: string): string {
  return undone === "rollback"
    ? nextCommand("rollback", { run }, { all: true })
    : nextCommand(undone, { run }, { undo: true });
}

function figureOf(files: RunFiles, stage: RunStage): Figure | null {
  if (stage === "apply") return loadFigure(files);
  return stage === "handover" ? handoverFigure(files) : null;
}

/** How long this run's last one took that came to its end, by the record of its window, else by its log. */
async function tookBefore(run: RunFolder, stage: RunStage): Promise<Figure | null> {
  const entries = await readWindow(run);
  const end = entries.findLast((one) => one.stage === stage && one.result === "done");
  const begin =
    end && entries.slice(0, entries.indexOf(end)).findLast((one) => one.stage === stage);
  if (end !== undefined && begin !== undefined && begin.do === "begin")
    return { seconds: since(begin.at, end.at), from: "as the last time in this run" };
  return tookByLog(run, stage);
}

function since(begin: string, end: string): number {
  return (Date.parse(end) - Date.parse(begin)) / 1000;
}

/** Of a command's lines only those of one process belong together. */
async function tookByLog({ path }: RunFolder, stage: RunStage): Promise<Figure | null> {
  const text = await readFile(join(path, "log.jsonl"), "utf8").catch(() => "");
  const begun = new Map<unknown, string>();
  let found: Figure | null = null;
  for (const line of text.split("\n")) {
    const entry = parsedJson(line);
    if (!isObject(entry) || typeof entry.ts !== "string") continue;
    const { type, ts, pid } = entry;
    if (type === "begin") begun.set(pid, isOf(entry.command, stage) ? ts : "");
    const at = begun.get(pid) ?? "";
    if (type === "end" && entry.status === 0 && at !== "")
      found = { seconds: since(at, ts), from: "as the last time in this run" };
  }
  return found;
}

function isOf(command: unknown, stage: RunStage): boolean {
  const words = String(command);
  const flag = { takeover: " --takeover", final: " --final" }[stage as string];
  if (flag !== undefined) return words.startsWith("nova2ironic verify ") && words.includes(flag);
  if (stage === "verify" && / --(takeover|final)\b/.test(words)) return false;
  return words.startsWith(`nova2ironic ${stage} `);
}

function lasting(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(seconds / 3600).toFixed(1)} h`;
}
