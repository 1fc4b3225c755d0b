import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { emptyTally } from "../../../src/migrate/verify/rules/tally.ts";
import { verify } from "../../../src/migrate/verify/rules/verify.ts";
import type { Verifier } from "../../../src/model/ironic/target.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

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
