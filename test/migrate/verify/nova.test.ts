import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { once } from "../../../src/lib/streams.ts";
import { choiceOf } from "../../../src/migrate/hosts/rules/choice.ts";
import { compareNova, type Inspected } from "../../../src/migrate/verify/rules/nova.ts";
import { emptyNovaTally, emptyTally, type Used } from "../../../src/migrate/verify/rules/used.ts";
import { unsettled, verify } from "../../../src/migrate/verify/rules/verify.ts";
import { STAGED } from "../../../src/model/handover.ts";
import type { Verifier } from "../../../src/model/ironic/target.ts";
import type { Row } from "../../../src/model/machine.ts";
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
  state: { id: `instances:${id}`, is, reason: "", fields },
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
    instancesOf: () => {
      asked += 1;
      return none<never>();
    },
    ...{ onNodes: none<never>, nova: { engine: "mysql" } as const, locationsOf: none<never> },
    ...{ computesOf: none<never>, deletedOf: none<never>, providersOf: null },
    expects: () => null,
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
  const how = { all: false, used, novaOf: beside.machines };
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

const MACHINES = 2000;

const plan = () => planOf(MACHINES, 1);

async function* planOf(machines: number, rows: number): AsyncGenerator<readonly PlannedMachine[]> {
  for (let at = 1; at <= machines; at++) {
    const uuid = `n-${at}`;
    const about = { service_host: null, reason: null, state: { row: "free", outcome: "free" } };
    const record = { resource: "node", id: `node:${uuid}`, row: { uuid }, origins: [] } as const;
    const records = Array.from({ length: rows }, () => ({ ...record, change: "create" as const }));
    yield [{ bm_node_id: at, uuid, verdict: "create", ...about, records, findings: [] }];
  }
}

/** Answers some turns later; tells how many questions are open, and how many were at most. */
function slow() {
  const told = { open: 0, most: 0, machines: 0 };
  const verifier: Pick<Verifier, "rows" | "marked"> = {
    async rows(uuids) {
      told.open += 1;
      told.most = Math.max(told.most, told.open);
      told.machines = Math.max(told.machines, uuids.length);
      for (let turns = 0; turns < 5; turns++) await turn();
      told.open -= 1;
      const nodes = new Map(uuids.map((uuid) => [uuid, { uuid }]));
      return { nodes, ports: new Map(), unreadable: new Map() };
    },
    marked: () => Promise.resolve(0),
  };
  return {
    told,
    verifier: { ...verifier, markedUuids: () => assert.fail("no stranger is there") },
  };
}

test("verify asks about the next batches while one is compared, and ends with no question open", async () => {
  const same = (): never => assert.fail("no secret is there");
  const whole = slow();
  const tally = emptyTally();
  for await (const _ of verify(plan, whole.verifier, same, tally, { all: false }));
  assert.equal(tally.validated, MACHINES);
  assert.deepEqual(whole.told, { open: 0, most: 2, machines: 128 });

  const cut = slow();
  const verdicts = verify(plan, cut.verifier, same, emptyTally(), { all: true });
  assert.equal((await verdicts.next()).value.uuid, "n-1");
  assert.ok(cut.told.open > 0);
  await verdicts.return(undefined);
  assert.equal(cut.told.open, 0);
});

test("verify asks about few machines at once where they have a thousand rows each", async () => {
  const { told, verifier } = slow();
  const tally = emptyTally();
  const same = (): never => assert.fail("no secret is there");
  for await (const _ of verify(() => planOf(20, 1000), verifier, same, tally, { all: false }));
  assert.equal(tally.validated, 20_000);
  assert.equal(told.machines, 2);
});

const PLANNED = { maintenance: false, power_state: null, last_error: null };
const SYNC = "During sync_power_state, max retries exceeded for node n1";

test("what hides a machine from Nova is told once Nova should have it", () => {
  const cases: readonly (readonly [Row, Row, readonly string[]])[] = [
    [PLANNED, { power_state: "power on" }, []],
    [PLANNED, { power_state: null }, ["power_state"]],
    // Its service does not tell of the power.
    [PLANNED, {}, []],
    [
      PLANNED,
      { maintenance: true, maintenance_reason: STAGED, power_state: null },
      ["maintenance", "power_state"],
    ],
    [
      PLANNED,
      { maintenance: true, fault: "power failure", power_state: "power on" },
      ["maintenance"],
    ],
    [{ ...PLANNED, maintenance: true }, { maintenance: true, power_state: null }, []],
    [PLANNED, { power_state: "power on", last_error: "no route" }, ["last_error"]],
    [PLANNED, { power_state: "power on", last_error: SYNC }, []],
    [PLANNED, { power_state: null, last_error: SYNC }, ["power_state", "last_error"]],
    [{ ...PLANNED, last_error: "old" }, { power_state: "power on", last_error: "old" }, []],
  ];
  for (const [planned, found, fields] of cases)
    assert.deepEqual(
      unsettled(planned, found).map(({ field }) => field),
      fields,
      JSON.stringify(found),
    );
});
