import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Case } from "../../../src/demo/case.ts";
import { refused, runs } from "../../hostile/cli.ts";
import { acceptOf, tenant } from "../../hostile/fleet.ts";
import { fleetUuid } from "../../support/fleet.ts";
import { freeMachines, planOverRest } from "./free-machines.ts";
import { type Living, livingIronic } from "./living.ts";

const SECOND = fleetUuid(2);

/** Two tenants' machines and a free one, which nobody can switch. */
function tenants(): Case {
  const accept = acceptOf("N2I-D403", "N2I-D604", "N2I-D605", "N2I-D752");
  return {
    ...freeMachines(0),
    nova_bm: { nodes: [tenant(1), tenant(2), { id: 3 }] },
    site: { format: "nova2ironic/site@1", machines: [{ match: {}, accept }] },
  };
}

/** Loads them over REST. */
async function loaded(t: TestContext) {
  const ironic = await livingIronic(t);
  const { at, target } = await planOverRest(t, ironic.url, tenants());
  const on = [...at, ...target];
  await runs(0, ["apply", ...on, "--yes", "-q"]);
  return { ironic, at, on };
}

/** `protected` and `automated_clean` of each node, in the plan's order. */
function guards({ nodes }: Living): readonly string[] {
  return [1, 2, 3].map((id) => {
    const { protected: guarded, automated_clean = null } = nodes.get(fleetUuid(id)) ?? {};
    return `${guarded} ${automated_clean}`;
  });
}
const LOADED = ["true false", "true false", "false null"];
const CLEARED = ["false null", "false null", "false null"];

test("over REST finish ends the run, and no command after it calls less protection half-made or writes it again", async (t) => {
  const { ironic, at, on } = await loaded(t);
  assert.deepEqual(guards(ironic), LOADED);
  // Of one machine, while the run goes on.
  await runs(0, ["finish", ...on, "--yes", "--node", "1"]);
  const again = await runs(0, ["apply", ...on, "--yes"]);
  assert.match(again.out, /^Apply: 0 rows created, [1-9]\d* unchanged\.$/m);
  assert.deepEqual(guards(ironic), ["false null", ...LOADED.slice(1)]);

  const made = await runs(0, ["finish", ...on, "--yes"]);
  assert.match(made.out, /^Finish: 1 machines cleared, 2 with .*, 0 left\.\nThis run is done\.$/m);
  assert.deepEqual(guards(ironic), CLEARED);
  const status = await runs(0, ["status", ...at]);
  assert.match(status.out, /done, ended \d{4}-/);
  assert.match(status.err, /^Next: nothing; this run is done$/m);
  const seen = await runs(0, ["verify", ...on]);
  assert.match(seen.err, / validated, 0 mismatched/);
  assert.doesNotMatch(seen.err, /Not cleaned/);
  const calls = ironic.calls.length;
  for (const command of [["apply"], ["rollback", "--all"]])
    await refused([...command, ...on, "--yes", "-q"], 4, "N2I-E321");
  assert.equal(ironic.calls.length, calls);
  // What is gone is loaded and protected as before, and finish is to clear it again.
  ironic.nodes.delete(SECOND);
  for (const [uuid, { node_uuid }] of ironic.ports)
    if (node_uuid === SECOND) ironic.ports.delete(uuid);
  await runs(0, ["apply", ...on, "--yes", "-q", "--after-finish"]);
  assert.deepEqual(guards(ironic), ["false null", "true false", "false null"]);
  await runs(0, ["finish", ...on, "--yes", "-q"]);
  assert.deepEqual(guards(ironic), CLEARED);

  await runs(0, ["finish", ...on, "--yes", "--undo"]);
  assert.deepEqual(guards(ironic), LOADED);
  await runs(0, ["finish", ...on, "--yes"]);
  const { out } = await runs(0, ["rollback", ...on, "--all", "--yes", "--after-finish"]);
  assert.match(out, / 0 left\.$/m);
  assert.equal(ironic.nodes.size, 0);
  // What is loaded once more is protected once more.
  await runs(0, ["apply", ...on, "--yes", "-q"]);
  assert.deepEqual(guards(ironic), LOADED);
});
