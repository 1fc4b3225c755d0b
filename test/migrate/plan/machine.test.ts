import assert from "node:assert/strict";
import { test } from "node:test";
import { machineFinder } from "../../../src/migrate/plan/machine-finder.ts";
import { onceLoaded, slowDelete } from "../../../src/migrate/plan/rules/delete-cost.ts";
import { renderMachine } from "../../../src/migrate/plan/rules/diff.ts";
import { renderLine } from "../../../src/migrate/plan/rules/summary.ts";
import { type Finding, finding } from "../../../src/model/findings.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";
import { fleet, fleetUuid } from "../../support/fleet.ts";
import { withCase } from "../../support/planned-case.ts";

const UUID = "a0000000-0000-4000-8000-000000000001";
const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: UUID, service_host: "compute-1", verdict: "create", reason: null },
  ...{ state: { row: "building", outcome: "deploy-failed" }, findings: [], records: [] },
};

test("with --all every planned value has an origin, and a NULL nobody gave says so", () => {
  const row = { uuid: UUID, name: null, extra: { nova_bm: { id: 1 } } };
  const record = { resource: "node", id: `node:${UUID}`, row, origins: [0, 1] } as const;
  const text = renderMachine(
    { ...MACHINE, records: [{ ...record, change: "create" }] },
    [
      ["uuid", "bm_nodes.uuid"],
      ["extra.nova_bm.id", "bm_nodes.id"],
    ],
    true,
  );
  const planned = text.split("\n").filter((line) => line.startsWith("+"));
  assert.deepEqual(
    planned.map((line) => line.slice(line.indexOf("<-"))),
    ["<- bm_nodes.uuid", "<- no rule sets it", "<- bm_nodes.id"],
  );
});

test("the summary names what was accepted of a machine, each code once, and no warning", () => {
  const accepted = (found: Finding): Finding => ({ ...found, accepted: "gone since May" });
  const findings = [
    accepted(finding("N2I-D100", "bm_nodes.id=1", "in flight")),
    accepted(finding("N2I-D201", "bm_nodes.id=1", "Nova has no such instance")),
    accepted(finding("N2I-D201", "bm_nodes.id=1", "once more")),
    accepted(finding("N2I-D305", "bm_nodes.id=1", "shared")),
    finding("N2I-D402", "bm_nodes.id=1", "no value for it"),
  ];
  assert.equal(
    renderLine({ ...MACHINE, findings }),
    `  + ${UUID}  create     deploy-failed 0 ports  accepted N2I-D100, N2I-D201`,
  );
  assert.equal(renderLine(MACHINE), `  + ${UUID}  create     deploy-failed 0 ports`);
});

/** More than two groups of lines that a reader gives. */
const MACHINES = 70;

test("a machine is found in whatever order a list has, and one that is not there is null", () =>
  withCase(fleet(MACHINES), async ({ run }) => {
    const ids = Array.from({ length: MACHINES }, (_, at) => at + 1);
    const orders = {
      forward: ids,
      backward: ids.toReversed(),
      // As machines of a window end.
      mixed: ids.toSorted((one, other) => ((one * 11) % 67) - ((other * 11) % 67)),
    };
    for (const [order, asked] of Object.entries(orders)) {
      const { find, close } = machineFinder(run.path);
      for (const id of asked) assert.equal((await find(id))?.uuid, fleetUuid(id), order);
      assert.equal(await find(MACHINES + 1), null, order);
      assert.equal((await find(1))?.uuid, fleetUuid(1), order);
      await close();
    }
  }));

const key = (rows: number, table = "ports") => ({ table, column: "node_id", rows });

test("above 5,000 nodes a table without an index is named with the statements for its owner", () => {
  assert.equal(slowDelete(5000, [key(10_000)]), null);
  assert.equal(slowDelete(100_000, [key(5000)]), null);
  const slow = slowDelete(5001, [key(5001), key(0, "bios_settings")]);
  assert.match(slow?.what ?? "", /^Rolling back 5001 nodes .* \(ports\.node_id\)\.$/);
  assert.equal(
    slow?.fix,
    "before a rollback the owner of the tables runs: CREATE INDEX nova2ironic_ports_node_id ON ports (node_id); and afterwards: DROP INDEX nova2ironic_ports_node_id;",
  );
});

test("before a load the ports are those of the plan", () => {
  assert.deepEqual(onceLoaded([key(7), key(7, "allocations")], 9), [key(9), key(7, "allocations")]);
});
