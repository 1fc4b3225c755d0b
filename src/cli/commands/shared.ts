import { createInterface } from "node:readline/promises";
import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS, type ExitName } from "../../lib/exit-status.ts";
import { paintText } from "../../lib/table/colour.ts";
import type { FormatOptions } from "../../lib/table/format.ts";
import type { View } from "../../lib/table/table.ts";
import { foldText, visibleLines } from "../../lib/table/text.ts";
import { shellArgument } from "../../lib/text.ts";
import type { Watching } from "../../migrate/hosts/nova-target.ts";
import { machineFinder } from "../../migrate/plan/machine-finder.ts";
import type { Lists, Sink } from "../../run/sink.ts";
import { io } from "../io.ts";
import { log } from "../log.ts";
import { createEvents } from "../print/events.ts";
import { optionsFor, printView, screen, widthOf } from "../print/out.ts";
import { createProgress, terminalOf, took } from "../print/progress.ts";
import { drawStage, stageList } from "../print/stages.ts";
import { withMachines } from "../views/machines.ts";
import { guardsView, statesView, undoView } from "../views/previews.ts";
import { severalLines } from "../views/several.ts";
import { faultsView, verdictsView } from "../views/verify.ts";

export interface Voice {
  readonly quiet: boolean;
  readonly json: boolean;
  /** Seconds between two progress lines without a terminal. */
  readonly progressInterval: number;
  /** A stage of `run`, which prints the next command itself. */
  readonly walked?: boolean;
  /** Answers every question with yes. */
  readonly yes?: boolean;
}

export type ListArgs = Voice & FormatOptions;

/** Options of a command: those of the function that does its work, and of the output. */
export type ArgsOf<F extends (options: never, ...more: never[]) => unknown> = ListArgs &
  Parameters<F>[0];

/** Milliseconds between two checks whether a progress line is due. */
const PULSE = 1000;

/** Shows the progress of a step, also of a slow one. @param draw on a terminal */
async function withProgress<T>(
  [stage, total, summary]: readonly [string, number | undefined, (result: T) => string],
  { quiet, json, progressInterval }: Voice,
  work: (progress: ReturnType<typeof createProgress>) => Promise<T>,
  draw?: (text: string) => void,
): Promise<T> {
  const { stderr: stream, clock = { now: Date.now } } = io();
  const began = Date.now();
  // The clock of BMC timeouts may have another origin.
  const origin = began - clock.now();
  const progress = createProgress({
    ...{ stream, stage, total, json, quiet, draw, interval: progressInterval * 1000 },
    clock: () => origin + clock.now(),
  });
  const timer = setInterval(progress.pulse, PULSE).unref();
  try {
    const result = await work(progress);
    progress.done(summary(result), isInterrupted());
    return result;
  } finally {
    clearInterval(timer);
    took(stage, Date.now() - began);
  }
}

function isInterrupted(): boolean {
  return [130, 143].includes(io().status ?? 0);
}

/** A line for people. Programs read events instead. */
function report(voice: Voice, message: string): void {
  const lines = message.split("\n").filter((line) => voice.walked !== true || !NEXT.test(line));
  if (lines.length === 0) return;
  const text = lines.join("\n");
  log("said", { text });
  if (!voice.quiet && !voice.json) io().stderr.write(`${folded(text)}\n`);
}

const NEXT = /^(Next|then|or|Undo): /;

const VIEWS: { readonly [K in keyof Lists]: (items: AsyncIterable<Lists[K]>) => View } = {
  verdicts: verdictsView,
  states: statesView,
  guards: guardsView,
  undos: undoView,
  faults: faultsView,
};

export function sinkOf(args: Voice & At): Sink {
  return {
    report: (text) => report(args, text),
    result: (text) => printResult(args, text),
    note: (text) => note(args, text),
    /** On a terminal also the list of all stages. */
    stage(stages, at, takes) {
      const about = takes?.startsWith("under ") === false ? "about " : "";
      const estimate = takes === null ? "" : `, ${about}${takes}`;
      const text = `Stage ${at + 1} of ${stages.length}: ${stages[at]}${estimate}.`;
      if (args.json) return note(args, text);
      const { stderr, env } = io();
      const { live, width } = terminalOf(stderr, env);
      const drawn = { width: width(), colour: !env.NO_COLOR };
      if (live && !args.quiet) stderr.write(`\n${stageList(stages, at, drawn).join("\n")}\n`);
      report(args, text);
    },
    ...questions(args.yes === true),
    list(of, items, step) {
      const print = () => printDone(VIEWS[of](items), args);
      if (step === undefined) return print();
      return withProgress([step.title, step.machines, step.summary], args, print);
    },
    several: (...list) => several(args, ...list),
    /** listr2 draws the stage on a terminal. Nothing else may print. */
    during(title, machines, work, summary) {
      const { stderr, env } = io();
      const step = [title, machines, summary] as const;
      const run = (draw?: (text: string) => void) =>
        withProgress(step, args, ({ at, expect }) => work(at, expect), draw);
      return args.quiet || args.json || !terminalOf(stderr, env).live
        ? run()
        : drawStage(stderr, title, run, isInterrupted);
    },
  };
}

/** Asks on a terminal. Otherwise, only `--yes` is an answer. @throws MigrationError N2I-E303 */
function questions(yes: boolean): Pick<Sink, "askable" | "confirm"> {
  return {
    askable: () => yes || askable(),
    async confirm(question) {
      const answer = yes ? "yes" : await answerTo(`${question} Type "yes" to continue: `);
      if (answer.trim() !== "yes")
        throw new MigrationError("N2I-E303", "nothing was done", {
          fix: `Run the command again, and answer "yes" or pass --yes.`,
        });
    },
  };
}

function askable(): void {
  if (!io().stdin.isTTY || !io().stderr.isTTY)
    throw new MigrationError("N2I-E303", "there is no terminal, and --yes was not passed", {
      fix: "If there is no terminal, pass --yes.",
    });
}

async function answerTo(question: string): Promise<string> {
  askable();
  const readline = createInterface({ input: io().stdin, output: io().stderr });
  try {
    return await readline.question(question).catch(aborted);
  } finally {
    readline.close();
  }
}

/** Ctrl-D and Ctrl-C at a question are no answers. Ctrl-C also sets the exit status. */
function aborted(cause: unknown): string {
  if (!(cause instanceof Error) || cause.name !== "AbortError") throw cause;
  if (/Ctrl\+C/.test(cause.message)) exitWith("interrupted");
  io().stderr.write("\n");
  return "";
}

export interface WatchArgs {
  readonly watch: number;
  readonly allowRunningCompute: boolean;
  readonly allowQueuedRequests: boolean;
}

export function watchingOf(
  { watch, allowRunningCompute, allowQueuedRequests: queued }: WatchArgs,
  report: (text: string) => void,
): Watching {
  return { seconds: watch, allowed: allowRunningCompute, queued, report };
}

type At = FormatOptions & { readonly run?: string };

/** Prints many items by cause; other formats list all. @param listing the command that lists all */
async function several(
  args: Voice & At,
  ...[what, things, listing]: Parameters<Sink["several"]>
): Promise<void> {
  const all = args.allRows === true || args.format !== "table";
  const logged = `grep -F '"text":"${what}: ' ${shellArgument(`${args.run ?? ""}/log.jsonl`)}`;
  const every = listing ?? (args.run === undefined ? undefined : logged);
  const keep = (text: string): void => log("said", { text });
  const how = { all, width: widthOf(args), keep, every };
  const lines = await knowing(args.run, (find) => severalLines(what, things, find, how));
  if (lines.length > 0) printResult(args, lines.join("\n"));
}

export function printMachines(view: View, { run, ...options }: At): Promise<void> {
  return knowing(run, (find) => printView(withMachines(view, find), options));
}

/** The same after a command that writes: reports options for columns that the list lacks. */
export function printDone(view: View, { run, ...options }: At & Pick<Voice, "json">) {
  return knowing(run, async (find) => {
    const fullView = withMachines(view, find);
    const fit = optionsFor(fullView.columns, options);
    let any = false;
    const rows = async function* () {
      for await (const row of fullView.rows) {
        any = true;
        yield row;
      }
    };
    await printView({ ...fullView, rows: rows() }, fit.options);
    if (any && fit.without.length > 0)
      note(
        options,
        `The list with the columns ${fullView.columns.join(", ")} has no such column, so it is printed without ${fit.without.join(", ")}.`,
      );
  });
}

async function knowing<T>(run: string | undefined, work: (find: Find) => Promise<T>): Promise<T> {
  const finder = run === undefined ? null : machineFinder(run);
  try {
    return await work(finder?.find ?? (() => Promise.resolve(null)));
  } finally {
    await finder?.close();
  }
}

type Find = ReturnType<typeof machineFinder>["find"];

/** A total next to the result, printed even with --quiet; an event for programs. */
export function note(voice: Pick<Voice, "json">, text: string): void {
  log("said", { text });
  if (voice.json) createEvents(io().stderr)("notice", { text });
  else io().stderr.write(`${folded(visibleLines(text).join("\n"))}\n`);
}

/** A summary: part of the result in a table, otherwise on stderr. */
function printResult(how: FormatOptions & Pick<Voice, "json">, text: string): void {
  if (how.format === "table") {
    log("said", { text });
    printLines(text);
  } else note(how, text);
}

/** Prints text without control characters, which a database value may contain. */
export function print(text: string): void {
  const visible = visibleLines(text).join("\n");
  io().stdout.write(visible.endsWith("\n") ? visible : `${visible}\n`);
}

export function printLines(text: string): void {
  const visible = visibleLines(text).join("\n");
  const wrapped = foldText(visible, widthOf({ format: "table" }));
  io().stdout.write(`${painted(wrapped)}\n`);
}

function folded(text: string): string {
  const { live, width } = terminalOf(io().stderr, io().env);
  return live ? foldText(text, width()) : text;
}

export function exitWith(status: ExitName | number): void {
  io().status = typeof status === "number" ? status : EXIT_STATUS[status].status;
}

export function painted(text: string): string {
  return screen().colour === true ? paintText(text) : text;
}
