import { ahead } from "../lib/streams.ts";
import { type Change, invert, type Left, type Outcome, type State } from "../model/change.ts";
import type { Entries, Span } from "../model/journal.ts";
import { batches } from "./batches.ts";
import { midway, stoppedAfter } from "./midway.ts";
import { ownedIn, ownershipOf } from "./ownership.ts";
import type { Excluded, Leg, Session } from "./part.ts";
import { type Event, NOBODY, NOTHING, type Sofar, staysOf, type Walk, walkOf } from "./runner.ts";

const COMMAND = "rollback";

/** What to take back: everything, or what belongs to machines that are named. */
export interface Scope<L> {
  readonly all: boolean;
  readonly wants: (line: L) => boolean;
}

/** Changes that take lines back: those that are ours and were not taken back, last one first. */
function changesBack<C extends Change, L>(
  leg: Pick<Leg<C, L>, "changesOf">,
  lines: readonly L[],
  owned: (change: C) => boolean,
): readonly C[] {
  return lines.flatMap(leg.changesOf).filter(owned).toReversed().map(invert);
}

/**
 * Takes back what was made by a leg, within a scope. What is no longer as it was made is left and listed,
 * and so is what others still need. Safe to run again: what is back is back.
 *
 * @param excluded machines that stay as they are
 * @throws MigrationError N2I-E301 when it stops midway, but where the last event has it
 */
export async function* back<C extends Change, L>(
  leg: Leg<C, L>,
  session: Session,
  { all, wants }: Scope<L>,
  excluded: Excluded = NOBODY,
): AsyncGenerator<Event<L>> {
  const walk = walkOf(leg, session);
  const whole = all && excluded.size === 0;
  const goes = (line: L): boolean => wants(line) && !excluded.has(leg.machineOf(line) ?? "");
  async function* wanted() {
    for await (const { span, lines } of batches(leg.lines(), leg.part.size)) {
      const owned = ownedIn(walk.ownership, span);
      const chosen = lines.filter(goes);
      const changes = changesBack(leg, chosen, owned);
      yield { span, lines, owned, chosen, changes, before: walk.ownership.left.of(span) };
    }
  }
  let sofar: Sofar = { lines: 0, done: leg.already ?? 0 };
  for await (const { span, lines, owned, chosen, changes, before } of ahead(wanted())) {
    if (session.stopping()) return yield { kind: "stopped" };
    const named = [...new Set(chosen.map((line) => leg.machineOf(line) ?? ""))];
    const outcome =
      changes.length === 0
        ? NOTHING
        : await act(walk, span, { changes, all, nodes: whole ? "all" : named, before }, sofar);
    const behind = sofar.lines + (outcome.broke === undefined ? lines.length : 0);
    sofar = { lines: behind, done: sofar.done + outcome.done.length };
    const shared = lines.filter((line) => leg.machineOf(line) === null && !wants(line));
    const stay = excluded.size === 0 ? [] : lines.filter((line) => wants(line) && !goes(line));
    yield {
      ...{ kind: "batch", lines: behind, outcome, excluded: [], failed: [] },
      stays: staysOf(changes, outcome.left),
      shared: changesBack(leg, shared, owned).length,
      kept: changesBack(leg, stay, owned).length,
    };
    if (outcome.broke === undefined) continue;
    const { cause, behind: more } = outcome.broke;
    const far = leg.part.far({ ...sofar, lines: behind + more });
    return yield { kind: "broke", error: stoppedAfter(COMMAND, far, cause) };
  }
}

interface Chosen<C> {
  readonly changes: readonly C[];
  /** Whether everything is to be taken back. */
  readonly all: boolean;
  readonly nodes: readonly string[] | "all";
  /** Left by a rollback before. */
  readonly before: ReadonlySet<string>;
}

async function act<C extends Change, L>(
  { leg, session, guard, about }: Walk<C, L>,
  span: Span,
  { changes, all, nodes, before }: Chosen<C>,
  sofar: Sofar,
): Promise<Outcome> {
  const { append } = session.journal;
  const waits = (await leg.part.waiting?.(changes, "back")) ?? NOBODY;
  let { done } = sofar;
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
    // From here on something is back, whatever becomes of the journal.
    done += outcome.done.length;
    const left: readonly Left[] = [
      ...outcome.left,
      ...[...waits].map(([id, why]) => ({ id, why })),
    ];
    if (outcome.broke !== undefined) return { ...outcome, left };
    await append({
      ...{ do: "undone", ...about(span) },
      removed: outcome.done.length,
      gone: outcome.found.length,
      settled: [...outcome.done, ...outcome.found].filter((id) => before.has(id)),
      // Those of a rollback before are known: a journal must not grow by all of them each time.
      conflicts: left.flatMap(({ id }) => (before.has(id) ? [] : [id])),
    });
    return { ...outcome, left };
  } catch (cause) {
    if (!guard.passed() && done === 0) throw cause;
    throw midway(COMMAND, leg.part.far({ ...sofar, done }), done > 0, cause);
  }
}

/** What inspecting wants of a leg. */
interface Inspectable<C extends Change, L> extends Pick<Leg<C, L>, "plan" | "lines" | "changesOf"> {
  readonly part: Omit<Leg<C, L>["part"], "perform" | "far">;
}

/** A change that is to be taken back, and how it stands. */
interface Inspected<C, L> {
  readonly line: L;
  readonly change: C;
  readonly state: State;
}

/**
 * The same walk, which only inspects: what taking a leg back would meet now, batch by batch, in the
 * order of the plan. Writes nothing, not in the journal either.
 */
export async function* inspectBack<C extends Change, L>(
  leg: Inspectable<C, L>,
  entries: Entries,
  { wants }: Pick<Scope<L>, "wants">,
  excluded: Excluded = NOBODY,
): AsyncGenerator<readonly Inspected<C, L>[]> {
  const ownership = ownershipOf(entries, leg.part.name, leg.plan);
  for await (const { span, lines } of batches(leg.lines(), leg.part.size)) {
    const owned = ownedIn(ownership, span);
    const pairs = lines
      .filter(wants)
      .flatMap((line) => changesBack(leg, [line], owned).map((change) => ({ line, change })));
    if (pairs.length > 0) yield await inspect(leg, pairs, excluded);
  }
}

async function inspect<C extends Change, L>(
  { part }: Pick<Inspectable<C, L>, "part">,
  pairs: readonly { readonly line: L; readonly change: C }[],
  excluded: Excluded,
): Promise<readonly Inspected<C, L>[]> {
  const changes = pairs.map(({ change }) => change);
  const states = new Map((await part.inspect(changes)).map((state) => [state.id, state]));
  const waits = (await part.waiting?.(changes, "back")) ?? NOBODY;
  const stateOf = ({ id, machine }: C): State => {
    const state: State = states.get(id) ?? { id, is: "after", why: "" };
    if (state.is === "after") return state;
    const stays = waits.get(id) ?? (state.is === "other" ? state.why : excluded.get(machine ?? ""));
    return stays === undefined ? state : { id, is: "other", why: stays };
  };
  const inspected = pairs.map(({ line, change }) => ({ line, change, state: stateOf(change) }));
  part.assume?.(
    inspected.flatMap(({ change, state }) =>
      state.is === "other" || state.is === "after" ? [] : [change],
    ),
  );
  return inspected;
}

/** Machines of which a change is neither as it was made nor as it was before: nothing of them is taken back. */
export async function changedSince<C extends Change, L>(
  leg: Inspectable<C, L>,
  entries: Entries,
  scope: Pick<Scope<L>, "wants">,
): Promise<Excluded> {
  const found = new Map<string, string>();
  for await (const batch of inspectBack(leg, entries, scope))
    for (const { change, state } of batch)
      if (state.is === "other" && change.machine !== null)
        found.set(change.machine, `${change.id} ${state.why}`);
  return found;
}

export interface Journalled<C extends Change, L>
  extends Pick<Leg<C, L>, "plan" | "lines" | "changesOf"> {
  readonly part: Pick<Leg<C, L>["part"], "name" | "size">;
}

/** Lines of which something is ours and not taken back, by the journal alone, with those changes. */
export async function* ownedLines<C extends Change, L>(
  { part, plan, lines, changesOf }: Journalled<C, L>,
  entries: Entries,
  { wants }: Pick<Scope<L>, "wants">,
): AsyncGenerator<readonly { readonly line: L; readonly changes: readonly C[] }[]> {
  const ownership = ownershipOf(entries, part.name, plan);
  for await (const batch of batches(lines(), part.size)) {
    const owned = ownedIn(ownership, batch.span);
    yield batch.lines.filter(wants).flatMap((line) => {
      const changes = changesOf(line).filter(owned);
      return changes.length === 0 ? [] : [{ line, changes }];
    });
  }
}

/** How many changes of a leg are to be taken back, by the journal alone. */
export async function countBack<C extends Change, L>(
  leg: Journalled<C, L>,
  entries: Entries,
  scope: Pick<Scope<L>, "wants">,
): Promise<number> {
  let count = 0;
  for await (const batch of ownedLines(leg, entries, scope))
    for (const { changes } of batch) count += changes.length;
  return count;
}
