import assert from "node:assert/strict";
import type { Leg, Part, Session } from "../../src/engine/part.ts";
import { MigrationError } from "../../src/lib/error.ts";
import type { Change, Hooks, Outcome, State } from "../../src/model/change.ts";
import type { Entry } from "../../src/model/journal.ts";
import type { Row } from "../../src/model/machine.ts";

/** Thrown where a process dies: nothing of it runs any more. */
class Death extends Error {}

/** Runs until the process dies, or ends; whether it died. */
export async function dies(of: { dieIn: number }, after: number, work: () => Promise<unknown>) {
  of.dieIn = after;
  try {
    await work();
    return false;
  } catch (cause) {
    // The engine wraps no death: who died says nothing.
    assert.ok(cause instanceof Death, String(cause));
    return true;
  } finally {
    of.dieIn = -1;
  }
}

/** A world of rows in memory, and a count of steps at which it ends. */
export interface World {
  readonly rows: Map<string, Row>;
  readonly entries: Entry[];
  /** Steps until the process dies; negative: never. */
  dieIn: number;
  /** Rows that others still need as they are. */
  readonly needed: Set<string>;
}

export function world(): World {
  return { rows: new Map(), entries: [], dieIn: -1, needed: new Set() };
}

export function step(of: Pick<World, "dieIn">): void {
  if (of.dieIn === 0) throw new Death("the process died");
  of.dieIn -= 1;
}

function same(one: Row | null | undefined, other: Row | null | undefined): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** A part whose system is a map: a batch is one transaction, as in a database. */
export function memoryPart(of: World, name = "memory", size = 2): Part<Change> {
  const stateOf = (change: Change): State => {
    const found = of.rows.get(change.id) ?? null;
    const { id } = change;
    if (same(found, change.after)) return { id, is: "after", reason: "" };
    if (same(found, change.before)) return { id, is: "before", reason: "" };
    return { id, is: "other", reason: "was changed" };
  };
  return {
    ...{ name, size, amount: ({ done }) => `${done} rows` },
    inspect: (changes) => Promise.resolve(changes.map(stateOf)),
    waiting: (changes) =>
      Promise.resolve(
        new Map(changes.flatMap(({ id }) => (of.needed.has(id) ? [[id, "is needed"]] : []))),
      ),
    perform: (changes, hooks) => transact(of, changes, hooks, stateOf),
  };
}

async function transact(
  of: World,
  changes: readonly Change[],
  { owned, precondition, observed }: Hooks,
  stateOf: (change: Change) => State,
): Promise<Outcome> {
  await precondition();
  const states = changes.map((change) => ({ change, state: stateOf(change) }));
  const todo = states.filter(({ state }) => state.is === "before").map(({ change }) => change);
  const found = states.filter(({ state }) => state.is === "after").map(({ state }) => state.id);
  const other = states.filter(({ state }) => state.is === "other");
  const strange = other.find(({ state }) => !owned(state.id));
  if (strange !== undefined)
    throw new MigrationError("N2I-E300", `${strange.state.id} ${strange.state.reason}`);
  const done = todo.map(({ id }) => id);
  await observed({ done, found });
  step(of); // before the commit
  for (const { id, after } of todo)
    if (after === null) of.rows.delete(id);
    else of.rows.set(id, after);
  step(of); // after it: nobody was told
  return { done, found, skipped: other.map(({ state: { id, reason } }) => ({ id, reason })) };
}

export function journalOf(of: Pick<World, "dieIn" | "entries">): Session["journal"] {
  return {
    entries: () => [...of.entries],
    append(entry) {
      step(of);
      of.entries.push(entry);
      step(of);
      return Promise.resolve();
    },
  };
}

export function sessionOf(of: World, stopping: () => boolean = () => false): Session {
  return {
    journal: journalOf(of),
    ...{ now: () => "2026-01-01T00:00:00Z", by: "a test", stopping },
  };
}

/** A line for each machine: so many rows to create, and one to change. */
export interface Line {
  readonly machine: string;
  readonly changes: readonly Change[];
}

export function linesFor(machines: number): readonly Line[] {
  return Array.from({ length: machines }, (_, at) => {
    const machine = `m${at}`;
    const made = (what: string): Change => ({
      ...{ id: `${what}:${at}`, machine, before: null, after: { what, at } },
    });
    const moved: Change = {
      ...{ id: `moved:${at}`, machine, before: { host: "old" }, after: { host: "new" } },
    };
    return { machine, changes: [made("node"), made("port"), moved] };
  });
}

/** What stands before the first walk: every row that is only changed. */
export function before(lines: readonly Line[], of: World): void {
  for (const { changes } of lines)
    for (const { id, before: row } of changes) if (row !== null) of.rows.set(id, row);
}

export function legOf(
  part: Part<Change>,
  lines: readonly Line[],
  more: Partial<Leg<Change, Line>> = {},
): Leg<Change, Line> {
  return {
    ...{
      part,
      plan: "p",
      changesOf: ({ changes }) => changes,
      machineOf: ({ machine }) => machine,
    },
    async *lines() {
      yield lines;
    },
    ...{ check: () => Promise.resolve(), precondition: () => Promise.resolve() },
    ...more,
  };
}
