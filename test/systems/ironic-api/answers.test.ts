import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Hooks } from "../../../src/model/change.ts";
import { adopt } from "../../../src/systems/ironic-api/adopt.ts";
import type { AdoptionOutcome } from "../../../src/systems/ironic-api/create.ts";
import { gate } from "../../../src/systems/ironic-api/pool.ts";
import { remove } from "../../../src/systems/ironic-api/remove.ts";
import { refuses } from "../../manage/in-memory.ts";
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
    const other = met.filter(({ refused, found }) => refused !== undefined || found !== undefined);
    assert.deepEqual(other, []);
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

const OURS = { ...HOOKS, owned: () => true };
const SECRET = "<Correct>-horse-Battery-staple-41";
/** No four letters of the secret that follow each other. */
function hides(outcome: AdoptionOutcome): void {
  const told = JSON.stringify([outcome, outcome.broke?.message]);
  for (let at = 0; at + 4 <= SECRET.length; at += 1)
    assert.ok(!told.includes(SECRET.slice(at, at + 4)), told);
}

/** Calls, the status with which the service quotes the password in a text that is cut amid it. */
const CALLS = [
  ["POST /v1/nodes", 400, "HTML"],
  ["POST /v1/nodes", 403, "JSON"],
  ["POST /v1/ports", 400, "JSON"],
  ["PUT", 400, "JSON"],
  ["PATCH", 403, "HTML"],
  ["GET /v1/nodes/", 400, "JSON"],
] as const;
for (const [start, status, form] of CALLS)
  test(`a BMC password that ${form} quotes in a ${status} to ${start} shows in no part`, async (t) => {
    const ironic = await livingIronic(t);
    const machine = machineOf({ driver_info: { ipmi_password: ironic.seal.seal(SECRET, NODE) } });
    const quoted = `${".".repeat(285)}${SECRET}`;
    const says = form === "JSON" ? refuses(status, quoted) : { status, text: `<b>${quoted}</b>` };
    ironic.use((call) => (call.startsWith(start) ? { done: false, says } : null));
    const outcome = await adopt(ironic.link, machine, OURS);
    assert.match(outcome.failed ?? "", /\.\.\./);
    hides(outcome);
    ironic.use(() => null);
    await adopt(ironic.link, machine, OURS);
    const back = start.startsWith("POST") ? "DELETE" : start;
    ironic.use((call) => (call.startsWith(back) ? { done: false, says } : null));
    const { skipped: left, broke } = await remove(ironic.link, machine, new Map());
    assert.match(JSON.stringify(left), /\.\.\./);
    hides({ ...outcome, skipped: left, broke });
  });

test("no more work goes on at a time than a gate lets in, in its order, and a failure frees its place", async () => {
  const enter = gate(2);
  const begun: number[] = [];
  let [under, most] = [0, 0];
  const work = async (id: number): Promise<number> => {
    begun.push(id);
    under += 1;
    most = Math.max(most, under);
    await turn();
    under -= 1;
    if (id === 1) throw new Error("it broke");
    return id;
  };
  const ids = [0, 1, 2, 3, 4];
  const ended = await Promise.allSettled(ids.map((id) => enter(() => work(id))));
  assert.deepEqual([begun, most], [ids, 2]);
  const fulfilled = ended.map(({ status }) => status === "fulfilled");
  assert.deepEqual(fulfilled, [true, false, true, true, true]);
  assert.equal(await enter(() => work(5)), 5);
});
