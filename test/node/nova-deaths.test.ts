import assert from "node:assert/strict";
import { test } from "node:test";
import { readJournal } from "../../src/edge/disk/journal.ts";
import { managedIn } from "../../src/stages/manage-run.ts";
import { during } from "../engine/on-journal.ts";
import { uuidOf } from "./in-memory.ts";
import { back, forward, ID, scene } from "./nova-ways.ts";

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
