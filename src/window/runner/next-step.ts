import { duration, shellWord } from "../../lib/text.ts";
import type { RunFiles } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { isWindowClosed } from "../../run/files/window-file.ts";
import { type NextStep, nextCommand } from "../../run/next.ts";
import { type RunStage, stageOf, UNDONE_BY, WHY } from "../../run/stages.ts";
import { expectedIn } from "./expected.ts";
import { isDecision, leftBehind, lineOf, nextOf, nextStepOf } from "./pipeline.ts";
import { filesOf } from "./run-state.ts";

/** The one next step of a run, in words. */
export interface Advice {
  readonly next: string;
  readonly why: string;
  readonly takes: string;
  readonly undo: string;
}

const NOTHING = "nothing: it writes to no database";
/** Of a rollback that goes on. */
const AGAIN = "plan and apply, which load again what it took back";
const DONE: Advice = {
  ...{ next: "nothing", why: "this run is done", takes: "0 s" },
  undo: "rollback --after-finish, while machines are as they were loaded",
};

/** What comes next in a migration. */
export async function advice(run: RunFolder): Promise<Advice> {
  const { path } = run;
  const { files } = await filesOf(run, { run: path });
  const step = nextStepOf(files);
  const closed = await isWindowClosed(run);
  if (step === null) return within(closed, path, doneOf(files));
  const { after: _after, note, ...bare } = step;
  const stage = stageOf(step);
  if (stage === null)
    return { next: nextOf(files), why: note ?? "", takes: "not known", undo: AGAIN };
  const { seconds, source } = await expectedIn(run, files, stage);
  const undone = UNDONE_BY[stage];
  return within(undone !== null && closed, path, {
    next: lineOf(bare, files),
    why: whyOf(step, stage),
    takes:
      seconds === null
        ? "not known: this run has not done it yet"
        : `${duration(seconds)} (${source})`,
    undo: undone === null ? NOTHING : undoing(undone, path),
  });
}

/** What comes next in a run of another kind, by its status. @param changed what a rollback would take back */
export async function adviceOf(
  run: RunFolder,
  { next, changed }: { readonly next: string; readonly changed: number },
  why: string,
): Promise<Advice> {
  const undo = changed === 0 ? NOTHING : undoing("rollback", run.path);
  return within(await isWindowClosed(run), run.path, { next, why, takes: "not known", undo });
}

function whyOf(step: NextStep, stage: RunStage): string {
  const { note, again } = step;
  if (again !== undefined) return `${again}: ${stage} is done again.`;
  return note !== undefined && isDecision(step) ? `${note}. ${WHY[stage]}` : WHY[stage];
}

/** What takes back writes, and is refused until the window is open again. */
function within(closed: boolean, run: string, { undo, ...advice }: Advice): Advice {
  const open = `nova2ironic window open --run ${shellWord(run)}`;
  return { ...advice, undo: closed ? `${open}, then ${undo}` : undo };
}

function doneOf(files: RunFiles): Advice {
  if ("missing" in files.journal) return DONE;
  return { ...DONE, why: [DONE.why, ...leftBehind(files)].join("\n") };
}

function undoing(undone: "rollback" | "handover" | "finish", run: string): string {
  return undone === "rollback"
    ? nextCommand("rollback", { run }, { all: true })
    : nextCommand(undone, { run }, { undo: true });
}
