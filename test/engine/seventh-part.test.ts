import assert from "node:assert/strict";
import { test } from "node:test";
import { back, inspectBack } from "../../src/engine/back.ts";
import { forward } from "../../src/engine/forward.ts";
import type { Leg, Part } from "../../src/engine/part.ts";
import { gather } from "../../src/engine/walk.ts";
import type { Change } from "../../src/model/change.ts";
import { tempRun } from "../edge/disk/temp-run.ts";
import { during } from "./on-journal.ts";

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
