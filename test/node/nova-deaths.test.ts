import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { readJournal } from "../../src/edge/disk/journal.ts";
import { openRun, type RunFolder } from "../../src/edge/disk/run-folder.ts";
import { openService } from "../../src/edge/ironic-rest/service.ts";
import { openNetwork } from "../../src/edge/neutron/ports.ts";
import { pauseShorter } from "../../src/edge/openstack/passing.ts";
import { cloudOf } from "../../src/edge/openstack/settings.ts";
import { type WindowSession, windowBack, windowForward } from "../../src/engine/window.ts";
import { ONE_BY_ONE } from "../../src/engine/window-part.ts";
import { once } from "../../src/model/streams.ts";
import type { ManageChange } from "../../src/parts/manage-acts.ts";
import { type NovaHands, novaPart } from "../../src/parts/manage-nova.ts";
import { novaBackPart } from "../../src/parts/manage-nova-back.ts";
import type { Keep } from "../../src/stages/databases.ts";
import { loadMappings } from "../../src/stages/documents.ts";
import { changeBack, managedIn } from "../../src/stages/manage-run.ts";
import { novaHands } from "../../src/stages/nova-hands.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "./in-memory.ts";
import { type NovaInMemory, novaInMemory } from "./nova-memory.ts";

const ID = uuidOf(1, 1);
const OWN = uuidOf(7, 1);
const LIMIT = 5000;

interface Scene {
  readonly cloud: NovaInMemory;
  readonly hands: NovaHands;
  readonly run: () => Promise<RunFolder>;
}

async function scene(t: TestContext): Promise<Scene> {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await novaInMemory(t);
  const { releases, rest } = await loadMappings();
  const names = ["endpoint", "network", "compute", "placement", "image"].map(
    (name) => [name === "endpoint" ? name : `${name}_endpoint_override`, cloud.url] as const,
  );
  const place = cloudOf(new Map(names), "OS_*");
  const service = await openService(place, releases, rest, undefined, LIMIT);
  const network = await openNetwork(place, LIMIT);
  t.after(service.session.close);
  t.after(network.close);
  const asked = { flavor: "gold", image: null, ports: null, cut: false, watch: 0 };
  const own = {
    service,
    cloud: place,
    limit: LIMIT,
    network: () => Promise.resolve(network),
    images: () => Promise.resolve(null),
  };
  const hands = await novaHands(own, closedAfter(t), asked);
  return { cloud, hands, run: () => openRun(privateFolder(t), { create: true }) };
}

function closedAfter(t: TestContext): Keep {
  return (one) => {
    t.after(() => one.close());
    return one;
  };
}

/** As the command does: with what the journal says of it, or anew. */
async function forward({ hands }: Scene, session: WindowSession): Promise<readonly string[]> {
  const asked = {
    ...{ node: ID, name: "web-1", description: null, availability_zone: null, metadata: {} },
  };
  const known = managedIn(session.journal.entries()).get(ID)?.change;
  const change: ManageChange =
    known === undefined ? { id: ID, server: OWN, acts: [], asked } : { ...known, asked };
  const leg = { part: novaPart(hands, 1), command: "manage", pace: ONE_BY_ONE };
  const why: string[] = [];
  const { broke } = await windowForward(
    { ...leg, changes: () => once([change]) },
    session,
    ({ position }) => why.push(...position.why),
  );
  if (broke !== null) throw broke.cause ?? broke;
  return why;
}

async function back({ hands }: Scene, session: WindowSession): Promise<readonly string[]> {
  const leg = { part: novaBackPart(hands, 1), command: "rollback", pace: ONE_BY_ONE };
  const why: string[] = [];
  const { broke } = await windowBack(
    { ...leg, changes: (ours) => once([...ours].map(([id, one]) => changeBack(id, one).change)) },
    session,
    ({ position }) => why.push(...position.why),
  );
  if (broke !== null) throw broke.cause ?? broke;
  return why;
}

/** Lines of a way there: ten steps, the server's own uuid, and the end. */
const THERE = 11;

test("a server is made of a machine that runs, which hears nothing, and everything is taken back", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  const { driver, boot_interface, instance_info } = at.cloud.node;
  const run = await at.run();
  await during(run, async (session) => {
    assert.deepEqual(await forward(at, session), []);
  });
  const { node, port } = at.cloud;
  const [server] = at.cloud.servers.values();
  assert.equal(server?.status, "ACTIVE");
  assert.deepEqual(
    [node.driver, node.boot_interface, node.instance_uuid, node.maintenance, node.power_state],
    [driver, boot_interface, server.id, false, "power on"],
  );
  assert.deepEqual(
    { ...(node.instance_info as object), ...(instance_info as object) },
    node.instance_info,
  );
  assert.deepEqual(node.extra, { rack: 1 });
  assert.deepEqual([port.device_id, port["binding:host_id"]], [server.id, ID]);
  await during(run, async (session) => {
    assert.deepEqual(await back(at, session), []);
  });
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(at.cloud.heard, []);
});

test("a death at any line of the journal is rolled back, and the machine hears nothing", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  for (let lines = 0; lines <= THERE; lines += 1) {
    const run = await at.run();
    await during(run, (session) => forward(at, session), lines);
    const { entries } = await readJournal(run);
    assert.equal(entries.length, 1 + Math.min(lines, THERE));
    await during(run, async (session) => {
      assert.deepEqual(await back(at, session), []);
    });
    assert.equal(at.cloud.dump(), before, `died after ${lines} lines`);
    assert.equal(managedIn((await readJournal(run)).entries).size, 0);
  }
  assert.deepEqual(at.cloud.heard, []);
});

test("a death at any line of the journal is gone on from, and the machine hears nothing", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  for (let lines = 0; lines <= THERE; lines += 1) {
    const run = await at.run();
    await during(run, (session) => forward(at, session), lines);
    await during(run, async (session) => {
      assert.deepEqual(await forward(at, session), []);
    });
    assert.equal(at.cloud.servers.size, 1, `died after ${lines} lines`);
    assert.equal(at.cloud.node.driver, "ipmi");
    assert.equal(at.cloud.node.maintenance, false);
    await during(run, async (session) => {
      assert.deepEqual(await back(at, session), []);
    });
    assert.equal(at.cloud.dump(), before, `died after ${lines} lines`);
  }
  assert.deepEqual(at.cloud.heard, []);
});

test("a way back that dies at its only line is ended by the next", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  const run = await at.run();
  await during(run, (session) => forward(at, session));
  await during(run, (session) => back(at, session), 1);
  await during(run, (session) => back(at, session));
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(at.cloud.heard, []);
});

test("an interface that stays real ends it before a word to a conductor, and nothing of it stays", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  at.cloud.rules.keeps = "boot_interface";
  const run = await at.run();
  await during(run, async (session) => {
    assert.match((await forward(at, session)).join(), /not harmless .*boot_interface is ipxe/);
    assert.deepEqual(await back(at, session), []);
  });
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(
    at.cloud.calls.filter((call) => call.includes("/states/")),
    [],
  );
  assert.deepEqual(at.cloud.heard, []);
});

test("a machine that somebody else's server got stays on fake hardware, in maintenance", async (t) => {
  const at = await scene(t);
  const rival = uuidOf(9, 9);
  at.cloud.rules.rival = rival;
  const run = await at.run();
  await during(run, async (session) => {
    assert.match((await forward(at, session)).join(), /No valid host/);
    assert.match(
      (await back(at, session)).join(),
      new RegExp(`it has instance ${rival}.*it stays on fake hardware, in maintenance`),
    );
  });
  const { driver, maintenance, instance_uuid } = at.cloud.node;
  assert.deepEqual([driver, maintenance, instance_uuid], ["fake-hardware", true, rival]);
  assert.deepEqual(at.cloud.heard, []);
});

test("what is not given back whole stays on fake hardware, in maintenance, until it is", async (t) => {
  const at = await scene(t);
  const before = at.cloud.dump();
  const run = await at.run();
  // From the moment it is asked for its server, its power interface stays fake.
  at.cloud.use((call) => {
    if (call.startsWith("POST /servers")) at.cloud.rules.keeps = "power_interface";
    return null;
  });
  const stays = /power_interface is fake.*it stays on fake hardware[,;].* in maintenance/;
  await during(run, async (session) => {
    assert.match((await forward(at, session)).join(), stays);
    assert.match((await back(at, session)).join(), stays);
  });
  assert.deepEqual([at.cloud.node.driver, at.cloud.node.maintenance], ["fake-hardware", true]);
  assert.deepEqual(at.cloud.heard, []);
  at.cloud.use(() => null);
  delete at.cloud.rules.keeps;
  await during(run, async (session) => {
    assert.deepEqual(await back(at, session), []);
  });
  assert.equal(at.cloud.dump(), before);
  assert.deepEqual(at.cloud.heard, []);
});
