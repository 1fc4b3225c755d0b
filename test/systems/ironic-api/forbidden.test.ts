import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../../hostile/cli.ts";
import { bothWays } from "./both-ways.ts";
import { planOverRest } from "./free-machines.ts";
import { refuses } from "./keeps.ts";
import { livingIronic, machineOf } from "./living.ts";

const FORBIDDEN = { done: false, says: refuses(403, "Access was denied") };

test("a role that may not write is refused, and leaves journal and rollback as if nothing had begun", async (t) => {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url);
  ironic.use((call) => (call.startsWith("GET") ? null : FORBIDDEN));
  const denied = await runs(12, ["apply", ...at, ...target, "--yes", "-q"]);
  assert.match(denied.err, /^ERROR N2I-E211 .* refuses POST \/v1\/nodes: 403 Access was denied/m);
  assert.match(denied.out, /^Failed: .*Access was denied; nothing of it is in Ironic$/m);
  const { out } = await runs(0, ["rollback", ...at, ...target, "--yes", "--all", "-q"]);
  assert.match(out, /^Rollback: 0 rows removed, 0 gone already, 0 left\.$/m);
  assert.match((await runs(0, ["status", ...at])).out, /0 rows created in 0 batches /);
  ironic.use(() => null);
  await runs(0, ["apply", ...at, ...target, "--yes", "-q"]);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [1, 1]);
});

test("a batch in which one call was not refused stays begun when the next is forbidden", async (t) => {
  const ironic = await livingIronic(t);
  const run = bothWays(ironic, [machineOf()]);
  ironic.use((call) => (call === "POST /v1/ports" ? FORBIDDEN : null));
  const { broke } = await run.apply();
  assert.equal(broke?.code, "N2I-E301");
  const whole = run.journal().filter((entry) => entry.do === "aborted" && entry.rows === undefined);
  assert.deepEqual(whole, []);
  ironic.use(() => null);
  const { done, left } = await run.rollback();
  assert.deepEqual([done, left, ironic.nodes.size], [1, [], 0]);
});
