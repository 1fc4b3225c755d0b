import { MigrationError } from "../lib/error.ts";
import { prefetch } from "../lib/streams.ts";
import type { Change, Hooks, Outcome, SkippedRow } from "../model/change.ts";
import type { Span } from "../model/journal.ts";
import { type Batch, batches } from "./batches.ts";
import { committedNothing, midway, stoppedAfter } from "./midway.ts";
import { hasEnded, keyOf, type Ownership, ownedIn, wasStarted } from "./ownership.ts";
import type { Excluded, ExecutionProgress, Leg, Session } from "./part.ts";
import {
  type BatchResult,
  type EarlyEnd,
  NONE,
  NOTHING,
  type RunningLeg,
  runningLegOf,
  type SkippedLine,
  STOPPED,
  unchangedOf,
} from "./runner.ts";

const COMMAND = "apply";

/**
 * Performs a leg in batches: `begin` in the journal, perform, `done` in the journal. Safe to
 * repeat, because changes that exist as planned are found, not made.
 * @param excluded machines to skip
 * @param add receives each batch
 * @returns null if it completed
 * @throws MigrationError from the precondition, before the first write; N2I-E301 if it stops
 *   midway, unless the result has the error
 */
export async function forward<C extends Change, L>(
  leg: Leg<C, L>,
  session: Session,
  excluded: Excluded = NONE,
  add: (batch: BatchResult<L>) => void,
): Promise<EarlyEnd | null> {
  const running = runningLegOf(leg, session);
  let executionProgress: ExecutionProgress = { lines: 0, done: leg.already ?? 0 };
  for await (const batch of prefetch(computedBatches(running))) {
    if (session.stopping()) return STOPPED;
    const chosen = await choose(running, batch, excluded);
    // A check that the stop interrupted has no result, so nothing is done after it.
    if (session.stopping()) return STOPPED;
    const outcome =
      chosen.changes.length === 0
        ? NOTHING
        : await act(running, batch.span, chosen, executionProgress);
    const skipped = [...chosen.waiting, ...outcome.skipped];
    const failed = new Map(outcome.failed?.map(({ machine, reason }) => [machine, reason]));
    const lines = executionProgress.lines + (outcome.broke === undefined ? batch.lines.length : 0);
    executionProgress = { lines, done: executionProgress.done + outcome.done.length };
    add({
      ...{ lines, shared: 0, retained: 0, excluded: chosen.excluded },
      ...{ outcome: { ...outcome, skipped }, unchanged: unchangedOf(chosen.changes, skipped) },
      failed: skippedLines(leg, batch.lines, failed),
    });
    if (outcome.broke === undefined) continue;
    const broke = await brokeOf(running, batch.span, outcome.broke, executionProgress);
    return { stopped: false, broke };
  }
  return null;
}

/** A batch with its changes, which are computed once. */
interface Computed<C, L> extends Batch<L> {
  /** Lines with changes. */
  readonly acting: readonly L[];
  readonly all: readonly C[];
}

/** Reads each batch while the previous one is performed. */
async function* computedBatches<C extends Change, L>({
  leg,
}: RunningLeg<C, L>): AsyncGenerator<Computed<C, L>> {
  for await (const { span, lines } of batches(leg.lines(), leg.part.size)) {
    const all: C[] = [];
    const acting = lines.filter((line) => {
      const changes = leg.changesOf(line);
      all.push(...changes);
      return changes.length > 0;
    });
    yield { span, lines, acting, all };
  }
}

interface Chosen<C, L> {
  readonly changes: readonly C[];
  readonly ownedIds: ReadonlySet<string>;
  /** Skipped and not owned. Must never count as ours. */
  readonly out: readonly C[];
  readonly excluded: readonly SkippedLine<L>[];
  readonly waiting: readonly SkippedRow[];
}

async function choose<C extends Change, L>(
  { leg, ownership }: RunningLeg<C, L>,
  { span, acting, all }: Computed<C, L>,
  excluded: Excluded,
): Promise<Chosen<C, L>> {
  const otherwise = (await leg.exclude?.(acting)) ?? NONE;
  const owned = ownedIn(ownership, span);
  const ownedIds = new Set<string>();
  const unowned: C[] = [];
  for (const change of all)
    if (owned(change)) ownedIds.add(change.id);
    else unowned.push(change);
  const waits = (await leg.part.waiting?.(unowned, "forward")) ?? NONE;
  const isIncluded = ({ id, machine }: C): boolean =>
    !waits.has(id) && (machine === null || !(otherwise.has(machine) || excluded.has(machine)));
  return {
    changes: all.filter(isIncluded),
    ownedIds,
    out: unowned.filter((change) => !isIncluded(change)),
    excluded: skippedLines(leg, acting, otherwise),
    waiting: [...waits].map(([id, reason]) => ({ id, reason })),
  };
}

async function act<C extends Change, L>(
  running: RunningLeg<C, L>,
  span: Span,
  chosen: Chosen<C, L>,
  executionProgress: ExecutionProgress,
): Promise<Outcome> {
  const { leg, session, guard, ownership, about } = running;
  let { done } = executionProgress;
  try {
    await leg.check();
    await begin(running, span, chosen);
    const performed = leg.part.perform(chosen.changes, hooksOf(running, span, chosen));
    const outcome = await performed.catch(async (cause: unknown) => {
      const unwritten = !guard.passed() && cause instanceof MigrationError;
      if (committedNothing(cause) || unwritten) await abort(running, span, cause);
      throw cause;
    });
    // From here on, changes are committed, even if the journal write fails.
    done += outcome.done.length;
    // A batch that broke has no end in the journal, so the next run inspects each machine.
    if (outcome.broke !== undefined) return outcome;
    const { found, failed } = outcome;
    await session.journal.append({
      ...{ do: "done", ...about(span), found: foreignIn(found, chosen, ownership) },
      created: outcome.done.length + unrecorded(outcome, chosen.ownedIds, ownership, span),
      ...(failed !== undefined && { failed: failed.map(({ machine }) => machine) }),
    });
    return outcome;
  } catch (cause) {
    if (!guard.passed() && done === 0) throw cause;
    throw midway(COMMAND, leg.part.amount({ ...executionProgress, done }), done > 0, cause);
  }
}

async function begin<C extends Change, L>(
  { leg, session, about }: RunningLeg<C, L>,
  span: Span,
  { out }: Chosen<C, L>,
): Promise<void> {
  const { append } = session.journal;
  // Before `begin`, because skipped rows must never count as ours.
  if (out.length > 0)
    await append({ do: "aborted", ...about(span), why: "left out", ...rowsOf(out) });
  const staged = leg.staged === true && { staged: true as const };
  const nova = leg.nova !== undefined && { nova: leg.nova };
  await append({ do: "begin", ...about(span), by: session.by, ...staged, ...nova });
}

function hooksOf<C extends Change, L>(
  { session, guard, making, ownership, about }: RunningLeg<C, L>,
  span: Span,
  chosen: Chosen<C, L>,
): Hooks {
  const { append } = session.journal;
  const isForeign = (id: string): boolean =>
    ownership.preExisting.has(id) || ownership.refused.has(id);
  return {
    owned: (id) => chosen.ownedIds.has(id),
    ended: (machine) => hasEnded(ownership, span, machine),
    ...{ precondition: guard.run, making: making.run },
    async observed({ found = [], done = [], refused = [] }) {
      const rows = { found: foreignIn(found, chosen, ownership), taken: done.filter(isForeign) };
      if (rows.found.length + rows.taken.length > 0)
        await append({ do: "observed", ...about(span), ...rows });
      if (refused.length === 0) return;
      const theirs = chosen.changes.filter(({ id }) => refused.includes(id));
      const { rows: ids } = rowsOf(theirs);
      // The end of the batch has the result of its machine.
      await append({ do: "aborted", ...about(span), why: "refused", rows: ids });
    },
  };
}

function rowsOf(changes: readonly Change[]): {
  readonly rows: string[];
  readonly machines: string[];
} {
  return {
    rows: changes.map(({ id }) => id),
    machines: [...new Set(changes.flatMap(({ machine }) => machine ?? []))],
  };
}

/** Without this entry, rows of another run would count as ours next time. */
async function abort<C extends Change, L>(
  { session, ownership, about }: RunningLeg<C, L>,
  span: Span,
  { code: reason }: MigrationError,
): Promise<void> {
  if (wasStarted(ownership, span)) return;
  const entry = { do: "aborted", ...about(span), why: reason } as const;
  await session.journal.append(entry).catch(() => undefined); // report the first failure
}

async function brokeOf<C extends Change, L>(
  running: RunningLeg<C, L>,
  span: Span,
  { cause, completed, untouched = false }: NonNullable<Outcome["broke"]>,
  { lines, done }: ExecutionProgress,
): Promise<MigrationError> {
  if (untouched) await abort(running, span, cause);
  if (untouched && done === 0 && !wasStarted(running.ownership, span)) return cause;
  return stoppedAfter(COMMAND, running.leg.part.amount({ lines: lines + completed, done }), cause);
}

/** Found changes that are neither owned nor known as foreign. */
function foreignIn<C, L>(
  ids: readonly string[],
  { ownedIds }: Chosen<C, L>,
  { preExisting }: Ownership,
): readonly string[] {
  return ids.filter((id) => !ownedIds.has(id) && !preExisting.has(id));
}

/** Owned changes that an earlier run made without a journal entry, and that exist now. */
function unrecorded(
  { found, skipped }: Outcome,
  ownedIds: ReadonlySet<string>,
  { rows }: Ownership,
  span: Span,
): number {
  const existing = [...found, ...skipped.map(({ id }) => id)].filter((id) => ownedIds.has(id));
  return Math.max(0, existing.length - (rows.get(keyOf(span)) ?? 0));
}

/** The lines whose machine has a reason. */
function skippedLines<C extends Change, L>(
  leg: Leg<C, L>,
  lines: readonly L[],
  reasons: Excluded,
): readonly SkippedLine<L>[] {
  if (reasons.size === 0) return [];
  return lines.flatMap((line) => {
    const reason = reasons.get(leg.machineOf(line) ?? "");
    return reason === undefined ? [] : [{ line: leg.brief?.(line) ?? line, reason }];
  });
}
