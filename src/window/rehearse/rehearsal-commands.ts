import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { counted, createSeveral, listed, NAMES, type Several } from "../../lib/text.ts";
import { type ApplyOptions, apply } from "../../migrate/apply/apply.ts";
import { migrationBack } from "../../migrate/rollback/rollback.ts";
import { comparedOf, isEqual } from "../../migrate/verify/rules/used.ts";
import { verifyRun } from "../../migrate/verify/verify.ts";
import { nameOfRow } from "../../model/artefact.ts";
import { batchesOf, type Entries, IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import type { Rehearsal, RehearsedRefusal, RehearsedStage } from "../../model/rehearsal.ts";
import { readJournal } from "../../run/files/journal.ts";
import { type Sink, verdictsTo } from "../../run/sink.ts";
import { loadedIn } from "../report/history.ts";

export type RehearseOptions = Pick<
  ApplyOptions,
  | ("run" | "ironicDb" | "novaDb" | "novaApiDb")
  | ("skipBlocked" | "staged" | "powerMaxAge" | "keyFile")
>;

interface RehearsalJob {
  /** The run is that of the rehearsal, with its own journal. */
  readonly options: RehearseOptions & Pick<ApplyOptions, "leaveNova">;
  /** A digest of all rows of the copies. */
  readonly digest: () => Promise<string>;
  readonly machines: number;
  readonly sink: Sink;
}

function newRehearsed() {
  return {
    ...{ stages: [] as RehearsedStage[], refusals: [] as RehearsedRefusal[] },
    loaded: null as Rehearsal["loaded"],
    as_before: null as Rehearsal["as_before"],
    /** Refusals of apply that the rehearsal overrides. */
    allowed: {} as Partial<ApplyOptions>,
  };
}

type Rehearsed = ReturnType<typeof newRehearsed>;

type Ran = Pick<RehearsedStage, "rows" | "result"> & { readonly seconds: number | null };

export const DONE = "done";

/** No nova-compute uses a copy. */
const UNWATCHED = { seconds: 0, allowed: true, queued: true, report: () => undefined };

/** Exit statuses that depend on the plan and its target. */
const RESULTS: readonly number[] = [EXIT_STATUS.refused.status, EXIT_STATUS.denied.status];

/** Refusals of apply that a rehearsal may override, because no real machine is affected. */
const OVERRIDES: {
  readonly [code: string]: { readonly options: Partial<ApplyOptions>; readonly how: string };
} = {
  "N2I-E304": { options: { skipBlocked: true }, how: "without the excluded machines" },
  "N2I-E307": { options: { powerMaxAge: Number.MAX_VALUE }, how: "with the old readings" },
};

const STAGES = [
  ...[["apply", load] as const, ["verify", compared] as const, ["rollback", taken] as const],
  ...[["apply again", load] as const, ["verify again", compared] as const],
] as const;

/** Runs the commands until one refuses. @returns null if it was stopped */
export async function executeAll(job: RehearsalJob): Promise<Rehearsed | null> {
  const rehearsed = newRehearsed();
  const { stages, refusals } = rehearsed;
  const before = await job.digest();
  for (const [stage, work] of STAGES) {
    const began = Date.now();
    const ran = await work(job, rehearsed).catch((cause: unknown) =>
      refusedAt(stage, cause, rehearsed),
    );
    if (ran === null) return null;
    const seconds = (Date.now() - began) / 1000;
    const rate = ran.seconds === null || ran.seconds <= 0 ? null : ran.rows / ran.seconds;
    const { rows, result } = ran;
    stages.push({ stage, seconds, machines: job.machines, rows, rate, result });
    if (refusals.some((refusal) => refusal.stage === stage && refusal.went_on === null))
      return rehearsed;
    if (stage === "apply")
      rehearsed.loaded = ran.seconds === null ? null : { count: rows, seconds: ran.seconds };
    if (stage === "rollback") rehearsed.as_before = (await job.digest()) === before;
  }
  return rehearsed;
}

/** Records a refusal as a result. Other failures, such as a full disk, are thrown. */
function refusedAt(stage: string, thrown: unknown, { refusals }: Rehearsed): Ran {
  const cause = withoutHalf(thrown);
  if (!(cause instanceof MigrationError) || !RESULTS.includes(cause.exit)) throw cause;
  const { code, message, fix } = cause;
  refusals.push({ stage, code, message, fix, went_on: null });
  return { rows: 0, seconds: null, result: `refused: ${code}` };
}

/** A command that ends partway reports its committed rows. On a copy this does not matter. */
function withoutHalf(cause: unknown): unknown {
  const isHalf = cause instanceof MigrationError && cause.code === "N2I-E301";
  return isHalf && cause.cause instanceof MigrationError ? withoutHalf(cause.cause) : cause;
}

async function load(job: RehearsalJob, { refusals, allowed }: Rehearsed): Promise<Ran | null> {
  const options = { ...job.options, afterFinish: false };
  const from = (await entriesOf(job)).length;
  const rows = createSeveral();
  const sink = within(job, rows);
  const tried = (): ReturnType<typeof apply> =>
    apply({ ...options, ...allowed }, UNWATCHED, sink).catch((cause: unknown) => {
      const on = cause instanceof MigrationError ? OVERRIDES[cause.code] : undefined;
      // The same refusal ends the rehearsal the second time.
      if (!(cause instanceof MigrationError) || on === undefined) throw cause;
      const { code, message, fix } = cause;
      if (refusals.some((refusal) => refusal.code === code)) throw cause;
      refusals.push({ stage: "apply", code, message, fix, went_on: on.how });
      Object.assign(allowed, on.options);
      return tried();
    });
  const applied = await tried();
  if (applied === null) return null;
  const { failed, equal } = applied;
  const written = loadedIn((await entriesOf(job)).slice(from));
  return {
    ...{ rows: written?.count ?? 0, seconds: written?.seconds ?? null },
    result: failed > 0 ? `${counted(failed, "machine")} failed` : equal ? DONE : unplanned(rows),
  };
}

async function compared(job: RehearsalJob): Promise<Ran> {
  const options = { ...job.options, allRows: false, final: false };
  const rows = createSeveral();
  const verified = await verifyRun(options, within(job, rows));
  const result = isEqual(verified) ? DONE : unplanned(rows);
  return { rows: comparedOf(verified.tally), seconds: null, result };
}

function unplanned(rows: Several): string {
  return rows.length === 0 ? "not as planned" : `not as planned: ${listed(rows, NAMES)}`;
}

async function taken(job: RehearsalJob): Promise<Ran | null> {
  const options = { ...job.options, all: true, afterFinish: false };
  const [from, began] = [(await entriesOf(job)).length, Date.now()];
  let skipped = 0;
  const ended = await migrationBack(options, UNWATCHED).back(within(job), (rows) => {
    skipped += rows.length;
  });
  if (ended === null) return null;
  const batches = batchesOf((await entriesOf(job)).slice(from), IRONIC, ...NOVA_NAMES);
  const rows = batches.reduce((sum, entry) => sum + (entry.do === "undone" ? entry.removed : 0), 0);
  const seconds = (Date.now() - began) / 1000;
  return { rows, seconds, result: skipped === 0 ? DONE : `${counted(skipped, "row")} left` };
}

async function entriesOf({ options }: RehearsalJob): Promise<Entries> {
  return (await readJournal({ path: options.run })).entries;
}

/**
 * Hides the output of the commands in a rehearsal, because its table has the results. Shows their
 * progress.
 * @param rows collects the rows that differ from the plan
 */
function within(
  { sink, machines }: RehearsalJob,
  rows: ReturnType<typeof createSeveral> = createSeveral(),
): Sink {
  const silent = (): void => undefined;
  const silently = async (): Promise<void> => undefined;
  const { list } = verdictsTo(sink, (verdict) => rows.add(nameOfRow(verdict)));
  return {
    ...{ report: silent, result: silent, note: silent, stage: silent, askable: silent },
    ...{ confirm: silently, several: silently },
    async list(of, items, step) {
      const read = (): Promise<void> => list(of, items);
      if (step === undefined) return read();
      await sink.during(`rehearse: ${step.title}`, machines, read, step.summary);
    },
    during: (title, size, work, summary) => sink.during(`rehearse: ${title}`, size, work, summary),
  };
}
