import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import type { Fault } from "../../support/faulty-service.ts";
import { bothWays } from "./both-ways.ts";
import { refuses } from "./keeps.ts";
import { livingIronic, machineOf } from "./living.ts";

const LOCKED = { done: false, says: refuses(409, "Node a is locked by host lab, please retry") };
const KINDS: { readonly [what: string]: Fault } = {
  "answers 500": { done: false, says: refuses(500, "Internal error") },
  "does it, and answers 500": { done: true, says: refuses(500, "Internal error") },
  "answers 503": { done: false, says: refuses(503, "No free conductor workers") },
  "has nobody behind its proxy": {
    ...{ done: false, between: true },
    says: { status: 404, text: "default backend - 404" },
  },
  "is given up by its proxy": {
    ...{ done: true, between: true },
    says: { status: 504, text: "<html>Gateway Time-out</html>" },
  },
  "says that the node is locked": LOCKED,
  "does it, and cuts its answer": { done: true, says: null },
  "ends the connection": { done: false, says: null },
};
const MACHINES = {
  "in use": {},
  "in use, held and with traits": {
    ...{ maintenance: true, maintenance_reason: "look", traits: ["CUSTOM_A"] },
  },
  free: { provision_state: "available", protected: false, protected_reason: null },
};

/** A fault for the first of every call; a question, and a node being made, is never locked. */
function first(fault: Fault): (call: string) => Fault | null {
  const seen = new Set<string>();
  return (call) => {
    if (seen.has(call) || (fault === LOCKED && /^GET|^POST .*nodes$/.test(call))) return null;
    seen.add(call);
    return fault;
  };
}

for (const [kind, more] of Object.entries(MACHINES))
  test(`whatever a service does to the first of every call, a machine that is ${kind} is adopted and taken back`, async (t) => {
    pauseShorter(0.01);
    t.after(() => pauseShorter(1));
    const ironic = await livingIronic(t);
    for (const [what, fault] of Object.entries(KINDS)) {
      const machine = machineOf(more);
      const run = bothWays(ironic, [machine]);
      ironic.use(first(fault));
      const { failed, left } = await run.apply();
      assert.deepEqual({ failed, left }, { failed: [], left: [] }, what);
      const [node] = ironic.nodes.values();
      for (const [field, value] of Object.entries(machine.node))
        assert.deepEqual(node?.[field], value, `${field}, when it ${what}`);
      assert.equal(ironic.ports.size, 1, what);
      ironic.use(first(fault));
      const back = await run.rollback();
      assert.deepEqual({ failed: back.failed, left: back.left }, { failed: [], left: [] }, what);
      assert.deepEqual([ironic.nodes.size, ironic.ports.size], [0, 0], what);
    }
  });
