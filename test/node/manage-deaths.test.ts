import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { readJournal } from "../../src/edge/disk/journal.ts";
import { openRun, type RunFolder } from "../../src/edge/disk/run-folder.ts";
import { openService } from "../../src/edge/ironic-rest/service.ts";
import { openNetwork } from "../../src/edge/neutron/ports.ts";
import { cloudOf } from "../../src/edge/openstack/settings.ts";
import { type WindowSession, windowBack, windowForward } from "../../src/engine/window.ts";
import { ONE_BY_ONE } from "../../src/engine/window-part.ts";
import type { RecordKeeper } from "../../src/model/manage.ts";
import { once } from "../../src/model/streams.ts";
import { managePart, unmanagePart } from "../../src/parts/manage.ts";
import type { ManageChange } from "../../src/parts/manage-acts.ts";
import { loadMappings } from "../../src/stages/documents.ts";
import { changeBack, managedIn } from "../../src/stages/manage-run.ts";
import { allocationKeeper } from "../../src/stages/record-keeper.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { addRunning, dumped, type InMemory, inMemory, uuidOf } from "./in-memory.ts";

const SERVER = uuidOf(8, 1);
const LIMIT = 5000;

interface Scene {
  readonly cloud: InMemory;
  readonly keeper: RecordKeeper;
  /** A run of its own each time. */
  readonly run: () => Promise<RunFolder>;
}

/** @param alone nothing but its record is made of the machine */
async function scene(t: TestContext, alone = false): Promise<Scene> {
  const cloud = await inMemory(t);
  addRunning(cloud, 1, { instance_info: { traits: ["CUSTOM_OLD"], image_source: "i" } });
  if (alone) for (const kept of [cloud.ports, cloud.network]) kept.clear();
  const { releases, rest } = await loadMappings();
  const place = cloudOf(
    new Map([
      ["endpoint", cloud.ironic],
      ["network_endpoint_override", cloud.neutron],
    ]),
    "OS_*",
  );
  const service = await openService(place, releases, rest, undefined, LIMIT);
  const network = await openNetwork(place, LIMIT);
  t.after(service.session.close);
  t.after(network.close);
  const keeper = allocationKeeper({
    ...{ service, cloud: place, limit: LIMIT },
    network: () => Promise.resolve(network),
    images: () => Promise.resolve(null),
  });
  return { cloud, keeper, run: () => openRun(privateFolder(t), { create: true }) };
}

/** As the command does: with what the journal says of it, or anew. */
async function forward({ keeper }: Scene, session: WindowSession): Promise<void> {
  const id = uuidOf(1, 1);
  const asked = {
    ...{ node: id, name: "web-1", description: null, availability_zone: null, metadata: {} },
  };
  const known = managedIn(session.journal.entries()).get(id)?.change;
  const change: ManageChange =
    known === undefined ? { id, server: SERVER, acts: [], asked } : { ...known, asked };
  const leg = { part: managePart(keeper, 1), command: "manage", pace: ONE_BY_ONE };
  const { broke } = await windowForward(
    { ...leg, changes: () => once([change]) },
    session,
    () => {},
  );
  assert.equal(broke, null);
}

async function back({ keeper }: Scene, session: WindowSession): Promise<void> {
  const part = unmanagePart(keeper, 1);
  const leg = { part, command: "rollback", pace: ONE_BY_ONE };
  const { broke } = await windowBack(
    { ...leg, changes: (ours) => once([...ours].map(([id, one]) => changeBack(id, one).change)) },
    session,
    () => {},
  );
  assert.equal(broke, null);
}

/** Lines of a way there, with a tenant's port and without, and of a way back. */
const LINES = { port: 5, alone: 4 } as const;
const BACK = 2;

for (const [what, THERE] of Object.entries(LINES)) {
  test(`${what}: a death at any line of the journal is rolled back, and everything is as it was`, async (t) => {
    const at = await scene(t, what === "alone");
    const before = dumped(at.cloud);
    for (let lines = 0; lines <= THERE; lines += 1) {
      const run = await at.run();
      await during(run, (session) => forward(at, session), lines);
      await during(run, (session) => back(at, session));
      assert.equal(dumped(at.cloud), before, `died after ${lines} lines`);
      const { entries } = await readJournal(run);
      assert.equal(managedIn(entries).size, 0, `died after ${lines} lines`);
      if (lines === THERE)
        assert.equal(entries.length, 1 + THERE + BACK, "and there are no more lines");
    }
  });

  test(`${what}: a death at any line of the journal is gone on from, with the record that was begun`, async (t) => {
    const at = await scene(t, what === "alone");
    const before = dumped(at.cloud);
    for (let lines = 0; lines < THERE; lines += 1) {
      const run = await at.run();
      await during(run, (session) => forward(at, session), lines);
      await during(run, (session) => forward(at, session));
      const node = at.cloud.nodes.get(uuidOf(1, 1));
      assert.equal(node?.instance_uuid, SERVER);
      assert.deepEqual(node?.extra, {});
      assert.deepEqual(node?.instance_info, { image_source: "i", traits: ["CUSTOM_OLD"] });
      await during(run, (session) => back(at, session));
      assert.equal(dumped(at.cloud), before, `died after ${lines} lines`);
    }
  });
}

test("a rollback that dies is ended by the next", async (t) => {
  const at = await scene(t);
  const before = dumped(at.cloud);
  for (let lines = 0; lines < BACK; lines += 1) {
    const run = await at.run();
    await during(run, (session) => forward(at, session));
    await during(run, (session) => back(at, session), lines);
    await during(run, (session) => back(at, session));
    assert.equal(dumped(at.cloud), before, `died after ${lines} lines`);
    assert.equal(managedIn((await readJournal(run)).entries).size, 0);
  }
});

test("what somebody changed since is left and told, and nobody's port is taken from him", async (t) => {
  const at = await scene(t);
  const run = await at.run();
  await during(run, (session) => forward(at, session));
  const port = at.cloud.network.get(uuidOf(3, 1)) ?? {};
  Object.assign(port, { device_id: "somebody", device_owner: "compute:nova", revision_number: 9 });
  const left: string[] = [];
  await during(run, async (session) => {
    const part = unmanagePart(at.keeper, 1);
    const changes = () =>
      once([...managedIn(session.journal.entries()).values()].map(({ change }) => change));
    const leg = { part, command: "rollback", pace: ONE_BY_ONE, changes };
    await windowBack(leg, session, ({ position }) => left.push(position.is, ...position.why));
  });
  assert.deepEqual(left, ["other", `port ${uuidOf(3, 1)} belongs to compute:nova somebody now`]);
  assert.equal(port.device_id, "somebody");
  assert.equal(at.cloud.allocations.size, 0);
});

test("a mark that is somebody else's is taken off neither on the way there nor back", async (t) => {
  // Right after a mark, and once ports are bound.
  for (const [when, makes] of [
    [/^PATCH/, null],
    [/^PUT/, SERVER],
  ] as const) {
    const at = await scene(t);
    const node = at.cloud.nodes.get(uuidOf(1, 1)) ?? assert.fail();
    const his = { nova2ironic_manage: uuidOf(8, 9) };
    let [heard, open] = [false, true];
    at.cloud.use((call) => {
      if (open && heard) {
        open = false;
        node.extra = his;
      }
      heard ||= when.test(call);
      return null;
    });
    const run = await at.run();
    await during(run, (session) => forward(at, session));
    assert.deepEqual([node.extra, node.instance_uuid], [his, makes], String(when));
    await during(run, (session) => back(at, session));
    assert.deepEqual([node.extra, node.instance_uuid], [his, null], String(when));
    assert.equal(managedIn((await readJournal(run)).entries).size, 0);
  }
});

test("a machine that is somebody else's by then keeps what he wrote, and its port is given back", async (t) => {
  const at = await scene(t);
  const run = await at.run();
  await during(run, (session) => forward(at, session));
  const node = at.cloud.nodes.get(uuidOf(1, 1)) ?? assert.fail();
  at.cloud.allocations.clear();
  // His record has emptied them.
  const his = { instance_uuid: uuidOf(8, 9), instance_info: { image_source: "i", traits: [] } };
  Object.assign(node, his);
  await during(run, (session) => back(at, session));
  const { instance_uuid, instance_info } = node;
  assert.deepEqual({ instance_uuid, instance_info }, his);
  assert.equal(at.cloud.network.get(uuidOf(3, 1))?.device_id, "");
});

for (const alone of [false, true])
  test(`two who manage one machine at once make one record${alone ? ", without a mark" : ""}`, async (t) => {
    const at = await scene(t, alone);
    const [one, other] = [uuidOf(8, 1), uuidOf(8, 2)];
    const id = uuidOf(1, 1);
    const asked = (name: string) => ({
      ...{ node: id, name, description: null, availability_zone: null, metadata: {} },
    });
    const [first, second] = [await at.run(), await at.run()];
    const reached: string[] = [];
    const managing = (run: RunFolder, server: string, name: string): Promise<void> =>
      during(run, async (session) => {
        const change = { id, server, acts: [], asked: asked(name) };
        const leg = { part: managePart(at.keeper, 1), command: "manage", pace: ONE_BY_ONE };
        const own: string[] = [];
        await windowForward({ ...leg, changes: () => once([change]) }, session, ({ position }) =>
          own.push(position.is),
        );
        reached.push(...own);
        if (own.includes("other")) await back(at, session);
      });
    await Promise.all([managing(first, one, "a"), managing(second, other, "b")]);
    assert.deepEqual(reached.toSorted(), ["after", "other"]);
    assert.equal(at.cloud.allocations.size, 1);
    const [record] = at.cloud.allocations.keys();
    if (!alone) assert.equal(at.cloud.network.get(uuidOf(3, 1))?.device_id, record);
    assert.deepEqual(at.cloud.nodes.get(id)?.extra, {});
  });
