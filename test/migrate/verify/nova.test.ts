import assert from "node:assert/strict";
import { test } from "node:test";
import { once } from "../../../src/lib/streams.ts";
import { choiceOf } from "../../../src/migrate/hosts/rules/choice.ts";
import { compareNova, type Inspected } from "../../../src/migrate/verify/rules/nova.ts";
import { emptyNovaTally, emptyTally } from "../../../src/migrate/verify/rules/tally.ts";
import type { Used } from "../../../src/migrate/verify/rules/used.ts";
import { verify } from "../../../src/migrate/verify/rules/verify.ts";
import type { RowState } from "../../../src/model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const line = (id: number): PlannedMachine => ({
  ...{ bm_node_id: id, uuid: `m-${id}`, service_host: "c-1", verdict: "unchanged" },
  ...{ reason: null, state: { row: "active", outcome: "active" }, findings: [] },
  records: [
    {
      ...{ resource: "node", id: `node:m-${id}`, origins: [], change: "none" },
      row: { uuid: `m-${id}`, instance_uuid: `i-${id}`, provision_state: "active" },
    },
  ],
});

/** Row of a machine's instance that the plan changes. */
const row = (id: number, is: RowState["is"], fields: readonly string[] = []): Inspected => ({
  step: {
    ...{ id: `instances:${id}`, part: "hosts", table: "instances", key: { id }, before: {} },
    ...{ after: { uuid: `i-${id}` }, machine: `m-${id}`, of: `instance i-${id}` },
  },
  state: { id: `instances:${id}`, is, why: "", fields },
});

/** Compares machines of which some were deleted by their tenants, and Nova has no instance any more. */
async function compared(machines: number, deleted: number, rows: readonly Inspected[]) {
  const [tally, used] = [emptyNovaTally(false), new Map() as Used];
  let [parsed, asked] = [0, 0];
  const plan = () => {
    parsed += 1;
    return once(Array.from({ length: machines }, (_, at) => line(at + 1)));
  };
  const none = <T>(): Promise<ReadonlyMap<string, T>> => Promise.resolve(new Map<string, T>());
  const now = {
    rows: once(rows),
    tenants: {
      instancesOf: () => {
        asked += 1;
        return none<never>();
      },
      onNodes: none<never>,
      nova: { engine: "mysql" } as const,
    },
    placesOf: none<never>,
    hypervisors: {
      ...{ computesOf: none<never>, deletedOf: none<never>, providersOf: null },
      expects: () => null,
    },
    allocatedOf: () => Promise.resolve(new Set<string>()),
  };
  const later = { power_state: "power on", provision_updated_at: "2026-11-22 03:00:00" };
  const nodeOf = (uuid: string) =>
    Number(uuid.slice(2)) <= deleted
      ? { uuid, instance_uuid: null, provision_state: "available", ...later }
      : { uuid, instance_uuid: `i-${uuid.slice(2)}`, provision_state: "active" };
  const there = {
    rows: (uuids: readonly string[]) =>
      Promise.resolve({
        nodes: new Map(uuids.map((uuid) => [uuid, nodeOf(uuid)])),
        ...{ ports: new Map<string, never>(), unreadable: new Map<string, string>() },
      }),
    marked: () => Promise.resolve(0),
    markedUuids: () => once<string>([]),
  };
  const beside = compareNova(now, choiceOf([]), tally, { all: false, used });
  const told: string[] = [];
  const tell = async (verdicts: AsyncIterable<{ resource: string; uuid: string | null }>) => {
    for await (const { resource, uuid } of verdicts) told.push(`${resource} ${uuid}`);
  };
  await tell(beside.rows());
  const how = { all: false, used, beside: beside.machines };
  await tell(verify(plan, there, () => false, emptyTally(), how));
  await tell(beside.end());
  return { told, tally, parsed, asked };
}

test("a plan is parsed once for Ironic and Nova, and Nova is asked by as many machines as before", async () => {
  const { parsed, asked, tally } = await compared(1300, 0, []);
  assert.equal(parsed, 1);
  // Of instances and of allocations, in three batches each.
  assert.equal(asked, 6);
  assert.equal(tally.machines, 1300);
  assert.equal(tally.instances, 1300);
});

test("of a machine with a row that is told nothing else of its instance is", async () => {
  const rows = [row(1, "before"), row(2, "other", ["host"]), row(3, "after")];
  const { told, tally } = await compared(3, 0, rows);
  assert.deepEqual(told, ["instances:1 m-1", "instances:2 m-2", "instances m-3"]);
  assert.deepEqual([tally.before, tally.other, tally.after, tally.used], [1, 2, 1, 0]);
});

test("a row that its tenant's machine no longer has is used, though Nova is looked at first", async () => {
  const { told, tally } = await compared(2, 1, [row(1, "other", ["deleted"]), row(2, "after")]);
  assert.deepEqual(told, ["instances m-2"]);
  assert.equal(tally.used, 1);
});
