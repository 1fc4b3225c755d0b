import { prefetch } from "../lib/streams.ts";
import { type Change, invert, type Outcome, type SkippedRow, type State } from "../model/change.ts";
import type { Entries, Span } from "../model/journal.ts";
import { batches } from "./batches.ts";
import { midway, stoppedAfter } from "./midway.ts";
import { ownedIn, ownershipOf } from "./ownership.ts";
import type { Excluded, ExecutionProgress, Leg, Session } from "./part.ts";
import {
  type BatchResult,
  type EarlyEnd,
  NONE,
  NOTHING,
  type RunningLeg,
  runningLegOf,
  STOPPED,
  unchangedOf,
} from "./runner.ts";

const COMMAND = "rollback";

/** Scope of a rollback: all machines, or named ones. */
export interface Scope<L> {
  readonly all: boolean;
  readonly selects: (line: L) => boolean;
}

/** Inverse changes for lines, in reverse order. Only changes that we own and have not reverted. */
function changesBack<C extends Change, L>(
  leg: Pick<Leg<C, L>, "changesOf">,
  lines: readonly L[],
  owned: (change: C) => boolean,
): readonly C[] {
  return lines.flatMap(leg.changesOf).filter(owned).toReversed().map(invert);
}

/**
 * Reverts a leg's changes in a scope. Skips and lists objects that have changed or are in
 * use. Safe to repeat.
 * @param excluded machines to skip
 * @param add receives each batch
 * @returns null if it completed
 * @throws MigrationError N2I-E301 if it stops midway, unless the result has the error
 */
export async function back<C extends Change, L>(
  leg: Leg<C, L>,
  session: Session,
  { all, selects }: Scope<L>,
  excluded: Excluded = NONE,
  add: (batch: BatchResult<L>) => void,
): Promise<EarlyEnd | null> {
  const running = runningLegOf(leg, session);
  const isComplete = all && excluded.size === 0;
  const isDue = (line: L): boolean => selects(line) && !excluded.has(leg.machineOf(line) ?? "");
  async function* chosenBatches() {
    for await (const { span, lines } of batches(leg.lines(), leg.part.size)) {
      const owned = ownedIn(running.ownership, span);
      const chosen = lines.filter(isDue);
      const changes = changesBack(leg, chosen, owned);
      yield { span, lines, owned, chosen, changes };
    }
  }
  let executionProgress: ExecutionProgress = { lines: 0, done: leg.already ?? 0 };
  for await (const { span, lines, owned, chosen, changes } of prefetch(chosenBatches())) {
    if (session.stopping()) return STOPPED;
    const machines = [...new Set(chosen.map((line) => leg.machineOf(line) ?? ""))];
    const outcome =
      changes.length === 0
        ? NOTHING
        : await act(
            running,
            span,
            { changes, all, nodes: isComplete ? "all" : machines },
            executionProgress,
          );
    const completed = executionProgress.lines + (outcome.broke === undefined ? lines.length : 0);
    executionProgress = { lines: completed, done: executionProgress.done + outcome.done.length };
    const shared = lines.filter((line) => leg.machineOf(line) === null && !selects(line));
    const stay = excluded.size === 0 ? [] : lines.filter((line) => selects(line) && !isDue(line));
    add({
      ...{ lines: completed, outcome, excluded: [], failed: [] },
      unchanged: unchangedOf(changes, outcome.skipped),
      shared: changesBack(leg, shared, owned).length,
      retained: changesBack(leg, stay, owned).length,
    });
    if (outcome.broke === undefined) continue;
    const { cause, completed: more } = outcome.broke;
    const progress = leg.part.amount({ ...executionProgress, lines: completed + more });
    return { stopped: false, broke: stoppedAfter(COMMAND, progress, cause) };
  }
  return null;
}

interface Chosen<C> {
  readonly changes: readonly C[];
  /** Whether the scope is everything. */
  readonly all: boolean;
  readonly nodes: readonly string[] | "all";
}

async function act<C extends Change, L>(
  { leg, session, guard, about, ownership: { skipped: before } }: RunningLeg<C, L>,
  span: Span,
  { changes, all, nodes }: Chosen<C>,
  executionProgress: ExecutionProgress,
): Promise<Outcome> {
  const { append } = session.journal;
  const waits = (await leg.part.waiting?.(changes, "back")) ?? NONE;
  let { done } = executionProgress;
  try {
    await leg.check();
    const marked = all && nodes !== "all" && { all: true as const };
    await append({ do: "undo", ...about(span), nodes, ...marked, by: session.by });
    const outcome = await leg.part.perform(
      changes.filter(({ id }) => !waits.has(id)),
      {
        owned: () => true,
        ended: () => false,
        precondition: guard.run,
        observed: () => Promise.resolve(),
      },
    );
    // From here on, changes have been reverted, even if the journal write fails.
    done += outcome.done.length;
    const skipped: readonly SkippedRow[] = [
      ...outcome.skipped,
      ...[...waits].map(([id, reason]) => ({ id, reason })),
    ];
    if (outcome.broke !== undefined) return { ...outcome, skipped };
    await append({
      ...{ do: "undone", ...about(span) },
      removed: outcome.done.length,
      gone: outcome.found.length,
      settled: [...outcome.done, ...outcome.found].filter((id) => before.has(id)),
      // Without conflicts of an earlier rollback, because the journal would grow each time.
      conflicts: skipped.flatMap(({ id }) => (before.has(id) ? [] : [id])),
    });
    return { ...outcome, skipped };
  } catch (cause) {
    if (!guard.passed() && done === 0) throw cause;
    throw midway(COMMAND, leg.part.amount({ ...executionProgress, done }), done > 0, cause);
  }
}

interface Inspectable<C extends Change, L> extends Pick<Leg<C, L>, "plan" | "lines" | "changesOf"> {
  readonly part: Omit<Leg<C, L>["part"], "perform" | "amount">;
}

/** Preview of a rollback, batch by batch in plan order. Writes nothing, not even to the journal. */
export async function* inspectBack<C extends Change, L>(
  leg: Inspectable<C, L>,
  entries: Entries,
  { selects }: Pick<Scope<L>, "selects">,
  excluded: Excluded = NONE,
) {
  const ownership = ownershipOf(entries, leg.part.name, leg.plan);
  for await (const { span, lines } of batches(leg.lines(), leg.part.size)) {
    const owned = ownedIn(ownership, span);
    const pairs = lines
      .filter(selects)
      .flatMap((line) => changesBack(leg, [line], owned).map((change) => ({ line, change })));
    if (pairs.length > 0) yield await inspect(leg, pairs, excluded);
  }
}

async function inspect<C extends Change, L>(
  { part }: Pick<Inspectable<C, L>, "part">,
  pairs: readonly { readonly line: L; readonly change: C }[],
  excluded: Excluded,
) {
  const changes = pairs.map(({ change }) => change);
  const states = new Map((await part.inspect(changes)).map((state) => [state.id, state]));
  const waits = (await part.waiting?.(changes, "back")) ?? NONE;
  const stateOf = ({ id, machine }: C): State => {
    const state: State = states.get(id) ?? { id, is: "after", reason: "" };
    if (state.is === "after") return state;
    const skipReason =
      waits.get(id) ?? (state.is === "other" ? state.reason : excluded.get(machine ?? ""));
    return skipReason === undefined ? state : { id, is: "other", reason: skipReason };
  };
  const inspected = pairs.map(({ line, change }) => ({ line, change, state: stateOf(change) }));
  part.assume?.(
    inspected.flatMap(({ change, state }) =>
      state.is === "other" || state.is === "after" ? [] : [change],
    ),
  );
  return inspected;
}

/** Machines with a change that is neither as made nor reverted. They are skipped completely. */
export async function changedSince<C extends Change, L>(
  leg: Inspectable<C, L>,
  entries: Entries,
  scope: Pick<Scope<L>, "selects">,
): Promise<Excluded> {
  const found = new Map<string, string>();
  for await (const batch of inspectBack(leg, entries, scope))
    for (const { change, state } of batch)
      if (state.is === "other" && change.machine !== null)
        found.set(change.machine, `${change.id} ${state.reason}`);
  return found;
}

interface Journalled<C extends Change, L> extends Pick<Leg<C, L>, "plan" | "lines" | "changesOf"> {
  readonly part: Pick<Leg<C, L>["part"], "name" | "size">;
}

/** Lines with changes that we own and have not reverted, by the journal alone. */
export async function* ownedLines<C extends Change, L>(
  { part, plan, lines, changesOf }: Journalled<C, L>,
  entries: Entries,
  { selects }: Pick<Scope<L>, "selects">,
): AsyncGenerator<readonly { readonly line: L; readonly changes: readonly C[] }[]> {
  const ownership = ownershipOf(entries, part.name, plan);
  for await (const batch of batches(lines(), part.size)) {
    const owned = ownedIn(ownership, batch.span);
    yield batch.lines.filter(selects).flatMap((line) => {
      const changes = changesOf(line).filter(owned);
      return changes.length === 0 ? [] : [{ line, changes }];
    });
  }
}

/** Number of changes to revert, by the journal alone. */
export async function countBack<C extends Change, L>(
  leg: Journalled<C, L>,
  entries: Entries,
  scope: Pick<Scope<L>, "selects">,
): Promise<number> {
  let count = 0;
  for await (const batch of ownedLines(leg, entries, scope))
    for (const { changes } of batch) count += changes.length;
  return count;
}
