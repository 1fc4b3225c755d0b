import assert from "node:assert/strict";
import { test } from "node:test";
import { surrounded, surroundings } from "../../src/run/process-context.ts";
import { waitingFor } from "../../src/run/wait-message.ts";

test("what takes more than two seconds says what it is, again each half minute, and no more at its end", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const said: string[] = [];
  const world = { ...surroundings(), wait: (text: string) => void said.push(text) };
  await surrounded(world, async () => {
    assert.equal(await waitingFor("counting", () => Promise.resolve(1)), 1);
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const waited = waitingFor("reading the plan", () => promise);
    t.mock.timers.tick(1999);
    assert.deepEqual(said, []);
    t.mock.timers.tick(1);
    t.mock.timers.tick(30_000);
    resolve();
    await waited;
    t.mock.timers.tick(60_000);
  });
  assert.deepEqual(said, [
    "Still reading the plan: 2 s so far.",
    "Still reading the plan: 32 s so far.",
  ]);
});
