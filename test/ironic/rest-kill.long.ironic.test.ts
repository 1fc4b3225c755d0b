import assert from "node:assert/strict";
import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { ADOPTED, adoption, NOTHING } from "./adoption.ts";

/**
 * Each kind of call that changes something once, of 17: 6 for the held machine, 5 for the free one, 6
 * for the one in use, which has traits. All calls of each kind of machine are in
 * systems/ironic-api/killed.test, on an Ironic in memory.
 */
const CALLS = {
  "the first, before it": ["rest.before", 1],
  "port, then its maintenance": ["rest.after", 2],
  "maintenance, then what verifies": ["rest.after", 3],
  "adoption of a held machine": ["rest.after", 5],
  "provision of a free machine": ["rest.after", 10],
  traits: ["rest.after", 14],
  "manage of a machine with traits": ["rest.after", 15],
  "the last, protection": ["rest.after", 17],
} as const;
/** Of a rollback, beside some of them: maintenance, protection, deletion, and the last of all. */
const UNDOING: readonly number[] = [1, 2, 3, 8];
/** Of a rollback: a machine is in maintenance, the last one unprotected too. */
const HALF_UNDONE = [4, 7];

test("an adoption killed at any kind of call goes on with the same command, and so does its rollback", async (t) => {
  const ironic = await needsIronic(t);
  const at = await adoption(t, ironic, ["--ironic-url", ironic.url]);
  await at.does(0, "plan");
  const one = ["--yes", "--in-flight", "1"];
  const kill = (point: string, nth: number) => ({ NOVA2IRONIC_FAILPOINT: `${point}:${nth}:kill` });
  for (const [index, [what, [point, nth]]] of Object.entries(CALLS).entries()) {
    await at.does("killed", "apply", one, kill(point, nth));
    await at.does(0, "apply", one);
    assert.deepEqual(await at.there(), ADOPTED, `killed at ${what}`);
    const undoing = UNDOING[index];
    if (undoing !== undefined)
      await at.does("killed", "rollback", [...one, "--all"], kill("rest.after", undoing));
    await at.does(0, "rollback", [...one, "--all"]);
    assert.deepEqual(await at.there(), NOTHING, `rollback killed at call ${undoing}`);
  }
});

test("a rollback killed before a deletion leaves a machine in maintenance, and apply takes it out again", async (t) => {
  const ironic = await needsIronic(t);
  const at = await adoption(t, ironic, ["--ironic-url", ironic.url]);
  await at.does(0, "plan");
  const one = ["--yes", "--in-flight", "1"];
  await at.does(0, "apply", one);
  for (const call of HALF_UNDONE) {
    const kill = { NOVA2IRONIC_FAILPOINT: `rest.after:${call}:kill` };
    await at.does("killed", "rollback", [...one, "--all"], kill);
    // Its own verify asks whether maintenance and protection are as planned.
    await at.does(0, "apply", one);
    assert.deepEqual(await at.there(), ADOPTED, `killed at call ${call}`);
  }
});
