import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { runs } from "../../hostile/cli.ts";
import { bothWays } from "./both-ways.ts";
import { plannedFree } from "./free-machines.ts";
import { type Living, livingIronic, machineOf } from "./living.ts";

/** What a call may take, in milliseconds. */
const LIMIT = 5000;

/** The first call that makes a node and the first that deletes one are done after they were given up. */
function slowFirst({ mock }: TestContext, ironic: Living): void {
  const seen = new Set<string>();
  ironic.use((call) => {
    if (seen.has(call) || !/^(POST \/v1\/nodes$|DELETE \/v1\/nodes\/[^/]+$)/.test(call))
      return null;
    seen.add(call);
    mock.timers.tick(LIMIT);
    return { done: true, before: turn() };
  });
}

test("a call that is done after it was given up makes no double, and both roads come to their end", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const ironic = await livingIronic(t, LIMIT);
  const run = bothWays(ironic, [machineOf()]);
  slowFirst(t, ironic);
  const { failed, done: created } = await run.apply();
  assert.deepEqual({ failed, created }, { failed: [], created: 2 });
  const states = [...ironic.nodes.values()].map(({ provision_state }) => provision_state);
  assert.deepEqual([states, ironic.ports.size], [["active"], 1]);
  slowFirst(t, ironic);
  const { done: removed, left } = await run.rollback();
  assert.deepEqual({ removed, left }, { removed: 2, left: [] });
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0]);
});

test("--api-timeout gives a call up, and apply and rollback look what became of it", async (t) => {
  const ironic = await livingIronic(t);
  const { at, target } = await plannedFree(t, ironic.url);
  const given = [...at, ...target, "--yes", "--api-timeout", String(LIMIT / 1000)];
  t.mock.timers.enable({ apis: ["setTimeout"] });
  slowFirst(t, ironic);
  await runs(0, ["apply", ...given]);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [1, 1]);
  slowFirst(t, ironic);
  const { out } = await runs(0, ["rollback", ...given, "--all"]);
  assert.match(out, /^Rollback: 2 rows removed, 0 gone already, 0 left\.$/m);
  assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0]);
});
