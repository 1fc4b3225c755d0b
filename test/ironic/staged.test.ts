import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { scene } from "./scene.ts";
import { tables } from "./tables.ts";

/** Two rounds of the lab's take-over and one of its power sync. */
const ROUNDS_MS = 7_000;

test("no conductor touches a staged machine, and a rollback takes it back", async (t) => {
  const ironic = await needsIronic(t);
  const at = ironic && (await scene(t, ironic, 20));
  if (at === null) return;
  const before = await tables(at.db);
  await at.runs(0, "extract");
  await at.runs(3, "power", "-q");
  await at.runs(0, "plan", "-q");
  const loaded = await at.runs(3, "apply", "--yes", "--skip-blocked", "--staged");
  assert.match(loaded.err, /0 mismatched.*; 12 machines staged\./);
  const rows = await tables(at.db);
  await sleep(ROUNDS_MS);
  assert.deepEqual(await tables(at.db), rows);
  assert.deepEqual(at.sim.commands(), []);
  const again = await at.runs(3, "apply", "--yes", "--skip-blocked");
  assert.match(again.out, /Apply: 0 rows created, 44 unchanged\./);
  await at.runs(0, "rollback", "--all", "--yes");
  assert.deepEqual(await tables(at.db), before);
});
