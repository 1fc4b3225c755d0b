import assert from "node:assert/strict";
import { test } from "node:test";
import { takenOverText } from "../../../src/cli/views/verify.ts";
import { noStates, observe } from "../../../src/window/handover/rules/observe.ts";
import { ironic } from "./world.ts";

test("who was taken over and whose power no conductor read yet is counted, and said", async () => {
  const world = ironic(3, { takes: 0 });
  const { handover } = world.releasing();
  // The third stays staged: its power is nobody's to read.
  for (const uuid of ["n1", "n2"]) await handover.clear(uuid);
  world.change("n1", { power_state: "power on" });
  const tally = noStates();
  const none = () => Promise.resolve(new Map());
  for await (const _ of observe(world.plan(), handover, tally, false, none));
  assert.deepEqual([tally.done, tally.staged, tally.powerUnknown], [2, 1, 1]);
  const said = takenOverText(tally, 0, 0);
  assert.match(said[1] ?? "", /^Power: Ironic has not read the power state of 1 machine/);
  assert.equal(takenOverText({ ...tally, powerUnknown: 0 }, 0, 0).length, 1);
});
