import assert from "node:assert/strict";
import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { ADOPTED, adoption, NOTHING } from "./adoption.ts";

/** Calls that change something: 6 for the held machine, 5 for the free one, 6 for the one in use, which has traits. */
const CALLS = 17;
/** Of a rollback: maintenance, protection, deletion. */
const UNDOING = 8;
/** Of a rollback: a machine each is in maintenance, the last one unprotected too. */
const HALF_UNDONE = [1, 4, 7];
/** Of an adoption: each leaves a machine to a conductor, which verifies, adopts, provides it. */
const UNDER_WAY = [4, 5, 10, 16];

test("an adoption killed at any call goes on with the same command, and so does its rollback", async (t) => {
  const ironic = await needsIronic(t);
  if (ironic === null) return;
  const at = await adoption(t, ironic, ["--ironic-url", ironic.url]);
  await at.does(0, "plan");
  for (let call = 1; call <= CALLS; call += 1) {
    const kill = (point: string, nth: number) => ({
      NOVA2IRONIC_FAILPOINT: `${point}:${nth}:kill`,
    });
    const one = ["--yes", "--in-flight", "1"];
    await at.does("killed", "apply", one, kill(call === 1 ? "rest.before" : "rest.after", call));
    await at.does(0, "apply", one);
    assert.deepEqual(await at.there(), ADOPTED, `killed at call ${call}`);
    if (call <= UNDOING)
      await at.does("killed", "rollback", [...one, "--all"], kill("rest.after", call));
    await at.does(0, "rollback", [...one, "--all"]);
    assert.deepEqual(await at.there(), NOTHING, `rollback killed at call ${call}`);
  }
});

test("a rollback killed before a deletion leaves a machine in maintenance, and apply takes it out again", async (t) => {
  const ironic = await needsIronic(t);
  if (ironic === null) return;
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

test("an adoption killed while a conductor works on a machine is rolled back at once", async (t) => {
  const ironic = await needsIronic(t);
  if (ironic === null) return;
  const at = await adoption(t, ironic, ["--ironic-url", ironic.url]);
  await at.does(0, "plan");
  const one = ["--yes", "--in-flight", "1"];
  for (const call of UNDER_WAY) {
    await at.does("killed", "apply", one, { NOVA2IRONIC_FAILPOINT: `rest.after:${call}:kill` });
    await at.does(0, "rollback", [...one, "--all"]);
    assert.deepEqual(await at.there(), NOTHING, `killed at call ${call}`);
  }
});
