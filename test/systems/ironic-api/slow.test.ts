import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { runs } from "../../hostile/cli.ts";
import { planOverRest } from "./free-machines.ts";
import { type Living, livingIronic } from "./living.ts";

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

test("--api-timeout gives a call up, and apply and rollback look what became of it", async (t) => {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url);
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
