import assert from "node:assert/strict";
import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { finished } from "./finished.ts";
import { native } from "./native.ts";
import { scene } from "./scene.ts";
import { tables } from "./tables.ts";
import { takenOver } from "./taken-over.ts";
import { assertTold } from "./told.ts";

/** Rows of twenty machines of every state, and secrets in them. */
const [ROWS, SECRETS] = [44, 17];

test("20 machines of every state are adopted over REST on MariaDB, none is switched, and a rollback deletes them", async (t) => {
  const at = await scene(t, await needsIronic(t), 20, { rest: true });
  await native(at);
  const before = await tables(at.db);
  const planned = await at.planned();
  assert.match(planned.out, /^Target {2}http:\S+ \(rest, ironic 2023\.1, microversion 1\.82\)/m);
  const applied = await at.runs(3, "apply", "--yes", "--skip-blocked", "--in-flight", "16");
  assert.match(applied.out, new RegExp(`^Apply: ${ROWS} rows created, 0 unchanged\\.$`, "m"));
  const masked = `${ROWS} validated, 0 mis.*; ${SECRETS} secrets masked by the service`;
  assert.match(applied.err, new RegExp(masked));
  await assertTold(at);
  await takenOver(at);
  const again = await at.runs(3, "apply", "--yes", "--skip-blocked");
  assert.match(again.out, new RegExp(`^Apply: 0 rows created, ${ROWS} unchanged\\.$`, "m"));
  await at.runs(0, "verify");
  assert.deepEqual(at.sim.commands(), [], "what the BMCs were told");
  await finished(at);
  const undone = await at.runs(0, "rollback", "--all", "--yes", "--after-finish");
  const removed = `^Rollback: ${ROWS} rows removed, 0 already deleted, 0 left`;
  assert.match(undone.out, new RegExp(removed, "m"));
  assert.deepEqual(await tables(at.db), before);
  assert.deepEqual(at.sim.commands(), [], "what the BMCs were told");
});
