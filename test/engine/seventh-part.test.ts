import assert from "node:assert/strict";
import { test } from "node:test";
import { openJournal } from "../../src/edge/disk/journal.ts";
import type { RunFolder } from "../../src/edge/disk/run-folder.ts";
import { back, inspectBack } from "../../src/engine/back.ts";
import { forward } from "../../src/engine/forward.ts";
import type { Change, Leg, Part } from "../../src/engine/part.ts";
import type { Session } from "../../src/engine/session.ts";
import { gather } from "../../src/engine/walk.ts";
import { JOURNAL_FORMAT } from "../../src/model/journal.ts";
import { tempRun } from "../edge/disk/temp-run.ts";

/** A system nobody knew when the engine was written: leases of machines, one call each. */
function leases(): { readonly held: Map<string, string>; readonly part: Part<Change> } {
  const held = new Map<string, string>();
  const stateOf = ({ id, before, after }: Change) => {
    const holder = held.get(id);
    const wanted = after?.holder;
    if (holder === wanted) return { id, is: "after" as const, why: "" };
    return holder === before?.holder
      ? { id, is: "before" as const, why: "" }
      : { id, is: "other" as const, why: `is held by ${holder ?? "nobody"}` };
  };
  const part: Part<Change> = {
    ...{ name: "leases", size: 2, far: ({ lines }) => `${lines} leases` },
    inspect: (changes) => Promise.resolve(changes.map(stateOf)),
    async perform(changes, { precondition, observed }) {
      await precondition();
      const states = new Map(changes.map((change) => [change.id, stateOf(change)]));
      const of = (is: string) => changes.filter(({ id }) => states.get(id)?.is === is);
      const [todo, found] = [of("before"), of("after").map(({ id }) => id)];
      await observed({ done: todo.map(({ id }) => id), found });
      for (const { id, after } of todo)
        if (after === null) held.delete(id);
        else held.set(id, String(after.holder));
      const left = of("other").map(({ id }) => ({ id, why: states.get(id)?.why ?? "" }));
      return { done: todo.map(({ id }) => id), found, left };
    },
  };
  return { held, part };
}

const LINES: readonly Change[] = ["a", "b", "c"].map((machine) => ({
  ...{ id: `lease:${machine}`, machine, before: null, after: { holder: "compute-2" } },
}));

function legOf(part: Part<Change>): Leg<Change> {
  return {
    ...{ part, plan: "p", changesOf: (line) => [line], machineOf: ({ machine }) => machine },
    async *lines() {
      yield LINES;
    },
    ...{ check: () => Promise.resolve(), precondition: () => Promise.resolve() },
  };
}

/** @param most entries until the process dies; it says nothing more then */
async function during(
  run: RunFolder,
  work: (session: Session) => Promise<unknown>,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const journal = await openJournal(run);
  if (journal.entries().length === 0)
    await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: "a test" });
  let left = most;
  const append: Session["journal"]["append"] = (entry) => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error("died")) : journal.append(entry);
  };
  const now = () => "2026-01-01T00:00:00Z";
  const session = { journal: { entries: journal.entries, append }, now, by: "a test" };
  try {
    await work({ ...session, stopping: () => false });
  } catch (cause) {
    assert.ok(cause instanceof Error && cause.message === "died", String(cause));
  } finally {
    await journal.close();
  }
}

const ALL = { all: true, wants: () => true };

test("a part that no file of src names is performed, killed, resumed, previewed and undone", async (t) => {
  for (let most = 0; most < 6; most += 1) {
    const run = await tempRun(t);
    const { held, part } = leases();
    await during(run, (session) => gather(forward(legOf(part), session)), most);
    await during(run, (session) => gather(forward(legOf(part), session)));
    assert.deepEqual([...held.values()], ["compute-2", "compute-2", "compute-2"]);
    held.set("lease:b", "somebody");
    await during(run, async ({ journal }) => {
      const said: string[] = [];
      for await (const batch of inspectBack(legOf(part), journal.entries(), ALL))
        for (const { state } of batch) said.push(`${state.id} ${state.is}`);
      assert.deepEqual(said, ["lease:a before", "lease:b other", "lease:c before"]);
    });
    await during(run, (session) => gather(back(legOf(part), session, ALL)));
    assert.deepEqual([...held], [["lease:b", "somebody"]]);
  }
});
