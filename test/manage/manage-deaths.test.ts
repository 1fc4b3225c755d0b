import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { allocationClient, type RecordClient } from "../../src/manage/record-client.ts";
import { managePart, unmanagePart } from "../../src/manage/steps/manage.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import type { RunFolder } from "../../src/run/files/run-folder.ts";
import { during } from "../engine/on-journal.ts";
import { addRunning, dumped, type InMemory, inMemory, uuidOf } from "./in-memory.ts";
import { ID } from "./nova-memory.ts";
import { backBy, forwardBy, machinesOf, servicesAt, withRun } from "./nova-ways.ts";

const SERVER = uuidOf(8, 1);

interface Scene {
  readonly cloud: InMemory;
  readonly recordClient: RecordClient;
  readonly run: RunFolder;
  readonly server: string;
  readonly before: string;
}

/** @param alone nothing but its record is made of the machine */
async function scene(t: TestContext, alone = false): Promise<Scene> {
  const cloud = await inMemory(t);
  addRunning(cloud, 1, { instance_info: { traits: ["CUSTOM_OLD"], image_source: "i" } });
  if (alone) for (const kept of [cloud.ports, cloud.network]) kept.clear();
  const recordClient = allocationClient(await servicesAt(t, cloud.ironic));
  return withRun(t, { cloud, recordClient, server: SERVER, before: dumped(cloud) });
}

/**
 * @param lines of the journal until it dies
 * @returns where the machine is then, and why; nothing of one that died
 */
async function forward({ recordClient, run, server }: Scene, lines?: number) {
  const reached: string[] = [];
  const part = managePart(recordClient, 1);
  await during(
    run,
    async (session) => {
      for (const { is, reasons: why } of await forwardBy(part, session, server))
        reached.push(is, ...why);
    },
    lines,
  );
  return reached;
}

async function back({ recordClient, run }: Scene, lines?: number): Promise<readonly string[]> {
  const ends = await backBy(unmanagePart(recordClient, 1), run, lines);
  return ends.flatMap(({ is, reasons: why }) => [is, ...why]);
}

const nodeOf = ({ cloud }: Scene) => cloud.nodes.get(ID) ?? assert.fail();

/** Lines of a way there, with a tenant's port and without, and of a way back. */
const LINES = { port: 5, alone: 4 } as const;
const BACK = 2;

for (const [what, THERE] of Object.entries(LINES)) {
  test(`${what}: a death at any line of the journal is rolled back, and everything is as it was`, async (t) => {
    const at = await scene(t, what === "alone");
    for (let lines = 0; lines <= THERE; lines += 1) {
      const own = await withRun(t, at);
      await forward(own, lines);
      await back(own);
      assert.equal(dumped(at.cloud), at.before, `died after ${lines} lines`);
      assert.equal((await machinesOf(own)).size, 0, `died after ${lines} lines`);
      const { entries } = await readJournal(own.run);
      if (lines === THERE)
        assert.equal(entries.length, 1 + THERE + BACK, "and there are no more lines");
    }
  });

  test(`${what}: a death at any line of the journal is gone on from, with the record that was begun`, async (t) => {
    const at = await scene(t, what === "alone");
    for (let lines = 0; lines < THERE; lines += 1) {
      const own = await withRun(t, at);
      await forward(own, lines);
      await forward(own);
      const { instance_uuid, extra, instance_info } = nodeOf(at);
      assert.deepEqual([instance_uuid, extra], [SERVER, {}]);
      assert.deepEqual(instance_info, { image_source: "i", traits: ["CUSTOM_OLD"] });
      await back(own);
      assert.equal(dumped(at.cloud), at.before, `died after ${lines} lines`);
    }
  });
}

test("a rollback that dies is ended by the next", async (t) => {
  const at = await scene(t);
  for (let lines = 0; lines < BACK; lines += 1) {
    const own = await withRun(t, at);
    await forward(own);
    await back(own, lines);
    await back(own);
    assert.equal(dumped(at.cloud), at.before, `died after ${lines} lines`);
    assert.equal((await machinesOf(own)).size, 0);
  }
});

test("what somebody changed since is left and told, and nobody's port is taken from him", async (t) => {
  const at = await scene(t);
  await forward(at);
  const port = at.cloud.network.get(uuidOf(3, 1)) ?? {};
  Object.assign(port, { device_id: "somebody", device_owner: "compute:nova", revision_number: 9 });
  const why = `port ${uuidOf(3, 1)} belongs to compute:nova somebody now`;
  assert.deepEqual(await back(at), ["other", why]);
  assert.deepEqual([port.device_id, at.cloud.allocations.size], ["somebody", 0]);
});

test("a mark that is somebody else's is taken off neither on the way there nor back", async (t) => {
  // Right after a mark, and once ports are bound.
  for (const [when, makes] of [
    [/^PATCH/, null],
    [/^PUT/, SERVER],
  ] as const) {
    const at = await scene(t);
    const node = nodeOf(at);
    const his = { nova2ironic_manage: uuidOf(8, 9) };
    let [heard, open] = [false, true];
    at.cloud.use((call) => {
      if (open && heard) {
        open = false;
        node.extra = his;
      }
      heard ||= when.test(call);
    });
    await forward(at);
    assert.deepEqual([node.extra, node.instance_uuid], [his, makes], String(when));
    await back(at);
    assert.deepEqual([node.extra, node.instance_uuid], [his, null], String(when));
    assert.equal((await machinesOf(at)).size, 0);
  }
});

test("a machine that is somebody else's by then keeps what he wrote, and its port is given back", async (t) => {
  const at = await scene(t);
  await forward(at);
  at.cloud.allocations.clear();
  // His record has emptied them.
  const his = { instance_uuid: uuidOf(8, 9), instance_info: { image_source: "i", traits: [] } };
  Object.assign(nodeOf(at), his);
  await back(at);
  const { instance_uuid, instance_info } = nodeOf(at);
  assert.deepEqual({ instance_uuid, instance_info }, his);
  assert.equal(at.cloud.network.get(uuidOf(3, 1))?.device_id, "");
});

for (const alone of [false, true])
  test(`two who manage one machine at once make one record${alone ? ", without a mark" : ""}`, async (t) => {
    const at = await scene(t, alone);
    const both = [at, { ...(await withRun(t, at)), server: uuidOf(8, 2) }];
    const reached = await Promise.all(
      both.map(async (one) => {
        const [is] = await forward(one);
        if (is === "other") await back(one);
        return is;
      }),
    );
    assert.deepEqual(reached.toSorted(), ["after", "other"]);
    assert.equal(at.cloud.allocations.size, 1);
    const [record] = at.cloud.allocations.keys();
    if (!alone) assert.equal(at.cloud.network.get(uuidOf(3, 1))?.device_id, record);
    assert.deepEqual(nodeOf(at).extra, {});
  });
