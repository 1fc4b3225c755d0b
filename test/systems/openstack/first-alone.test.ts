import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { firstAlone } from "../../../src/systems/ironic-api/pool.ts";

for (const end of ["done", "failed"] as const)
  test(`all others begin at once when the first is ${end}, and none before`, async () => {
    const alone = firstAlone(60_000);
    const begun: string[] = [];
    type End = { readonly resolve: (name: string) => void; readonly reject: (why: Error) => void };
    const ends = new Map<string, End>();
    const work = (name: string) => () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => ends.set(name, { resolve, reject }));
    };
    const first = alone(work("a"));
    const others = ["b", "c"].map((name) => alone(work(name)));
    await turn();
    assert.deepEqual(begun, ["a"]);
    if (end === "done") ends.get("a")?.resolve("a");
    else ends.get("a")?.reject(new Error("it failed"));
    if (end === "done") assert.equal(await first, "a");
    else await assert.rejects(first, /it failed/);
    await turn();
    assert.deepEqual(begun, ["a", "b", "c"]);
    const late = alone(work("d"));
    await turn();
    for (const name of ["d", "b", "c"]) ends.get(name)?.resolve(name);
    assert.deepEqual(await Promise.all([...others, late]), ["b", "c", "d"]);
  });

test("the others wait no longer for the first than they may, and it goes on", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const alone = firstAlone(500);
  let end = (_name: string): void => undefined;
  const first = alone(() => new Promise<string>((resolve) => (end = resolve)));
  let begun = false;
  const other = alone(() => {
    begun = true;
    return Promise.resolve("b");
  });
  t.mock.timers.tick(499);
  await turn();
  assert.equal(begun, false);
  t.mock.timers.tick(1);
  assert.equal(await other, "b");
  end("a");
  assert.equal(await first, "a");
});
