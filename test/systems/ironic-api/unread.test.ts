import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hooks } from "../../../src/model/change.ts";
import { adopt } from "../../../src/systems/ironic-api/adopt.ts";
import { HOOKS } from "../../support/hooks.ts";
import { livingIronic, machineOf, NODE, PORT } from "./living.ts";

type Observed = Parameters<Hooks["observed"]>[0];

for (const text of ["", "<html>Log in</html>", '{"uuid": "e00', "{}", '{"uuid": "another"}'])
  test(`a 201 that says ${JSON.stringify(text)} is looked into, and what was made stays ours`, async (t) => {
    const ironic = await livingIronic(t);
    ironic.use((call) =>
      call.startsWith("POST") ? { done: true, says: { status: 201, text } } : null,
    );
    const met: Observed[] = [];
    const observed = async (rows: Observed): Promise<void> => void met.push(rows);
    const { done, failed } = await adopt(ironic.link, machineOf(), { ...HOOKS, observed });
    assert.equal(failed, null);
    assert.deepEqual(done, [`node:${NODE}`, `port:${PORT}`]);
    assert.deepEqual(
      met.filter(({ refused, found }) => refused !== undefined || found !== undefined),
      [],
    );
    assert.equal(ironic.nodes.get(NODE)?.provision_state, "active");
    assert.equal(ironic.calls.filter((call) => call.startsWith("POST")).length, 2);
  });

test("an answer about another node says nothing of ours", async (t) => {
  const ironic = await livingIronic(t);
  await adopt(ironic.link, machineOf(), HOOKS);
  ironic.use((call) =>
    call === `GET /v1/nodes/${NODE}` ? { done: true, says: { status: 200, text: "{}" } } : null,
  );
  const met: Observed[] = [];
  const { broke } = await adopt(ironic.link, machineOf(), {
    owned: () => true,
    ended: () => true,
    observed: async (rows) => void met.push(rows),
  });
  assert.equal(broke?.code, "N2I-E212");
  assert.deepEqual(met, []);
});
