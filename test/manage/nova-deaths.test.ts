import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MigrationError } from "../../src/lib/error.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { during } from "../engine/on-journal.ts";
import { uuidOf } from "./in-memory.ts";
import { assertIs, backEnds, forwardEnds, undone } from "./nova-expect.ts";
import { ID } from "./nova-memory.ts";
import { back, begun, forward, forwardIn, machinesOf, scene, withRun } from "./nova-ways.ts";

/** Lines of a way there: ten steps, the server's own uuid, the end of its mark, and the end. */
const THERE = 13;

test("C-11, C-13: a server is made of a machine that runs, which hears nothing, and everything is taken back", async (t) => {
  const at = await scene(t);
  const { driver, boot_interface, instance_info } = at.cloud.node;
  const { node, port, calls } = at.cloud;
  const states = new Set<unknown>();
  at.cloud.use(() => void states.add(node.power_state));
  assert.deepEqual(await forward(at), []);
  // Nobody who reads Ironic's book meanwhile finds it off, and Nova has nothing to stop or start.
  assert.deepEqual([...states], ["power on"]);
  assert.ok(!calls.some((call) => call.endsWith("/action")));
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
  await undone(at);
});

test("a death at any line of the journal is rolled back, or gone on from, and the machine hears nothing", async (t) => {
  const at = await scene(t);
  for (let lines = 0; lines <= THERE; lines += 1)
    for (const goesOn of [false, true]) {
      const own = await withRun(t, at);
      await forward(own, lines);
      const { entries } = await readJournal(own.run);
      assert.equal(entries.length, 1 + Math.min(lines, THERE));
      if (goesOn) {
        assert.deepEqual(await forward(own), []);
        assertIs(at, "ipmi", false, 1);
      }
      await undone(own, `died after ${lines} lines`);
      assert.equal((await machinesOf(own)).size, 0);
    }
});

test("a way back that dies at its only line is ended by the next", async (t) => {
  const at = await begun(t);
  await back(at, 1);
  await undone(at);
});

test("a journal that cannot be written at any line leaves its machine as it is, or held", async (t) => {
  for (let lines = 0; lines < THERE; lines += 1) {
    const at = await scene(t);
    const { node } = at.cloud;
    await during(at.run, async (session) => {
      const { journal } = session;
      let left = lines;
      const append: typeof journal.append = async (entry) => {
        left -= 1;
        if (left < 0) throw new MigrationError("N2I-E120", "no space left on device");
        await journal.append(entry);
      };
      const full = { ...session, journal: { ...journal, append } };
      await assert.rejects(forwardIn(at, full), /no space left/);
    });
    assert.ok(node.driver === "ipmi" || node.maintenance === true, `after ${lines} lines`);
    await undone(at, `after ${lines} lines`);
  }
});

test("of two who give a machine a server at once one does at most, and nothing of the other stays", async (t) => {
  let won = 0;
  // The other begins once the first has made so many calls.
  for (const calls of [0, 10, 30, 50]) {
    const at = await scene(t);
    const both = [at, { ...(await withRun(t, at)), mark: uuidOf(7, 2) }];
    const from = at.cloud.calls.length;
    let ended = false;
    const became = await Promise.all(
      both.map(async (one, index) => {
        while (index === 1 && !ended && at.cloud.calls.length < from + calls) await setImmediate();
        const why = await forward(one);
        ended = true;
        if (why.length > 0) assert.deepEqual(await back(one), []);
        return why.length === 0;
      }),
    );
    const made = became.filter((one) => one).length;
    won += made;
    assert.ok(made <= 1, `after ${calls} calls`);
    assert.deepEqual([at.cloud.servers.size, at.cloud.node.maintenance], [made, false]);
    for (const one of both) assert.deepEqual(await back(one), []);
    assert.equal(at.cloud.dump(), at.before);
    // Nothing of either keeps a third from it.
    const third = { ...(await withRun(t, at)), mark: uuidOf(7, 3) };
    assert.deepEqual(await forward(third), []);
    await undone(third);
  }
  assert.ok(won > 0);
});

test("an interface that stays real ends it before a word to a conductor, and nothing of it stays", async (t) => {
  const at = await scene(t);
  at.cloud.rules.keeps = "boot_interface";
  await forwardEnds(at, /not completely on fake hardware.*boot_interface is ipxe/);
  await undone(at);
  assert.ok(!at.cloud.calls.some((call) => call.includes("/states/")));
});

test("what is not given back whole stays on fake hardware, in maintenance, until it is", async (t) => {
  const at = await scene(t);
  // From the moment it is asked for its server, its power interface stays fake.
  at.cloud.once("POST /servers", () => Object.assign(at.cloud.rules, { keeps: "power_interface" }));
  const stays = /power_interface is fake.*it stays on fake hardware[,;].* in maintenance/;
  await forwardEnds(at, stays);
  await backEnds(at, stays);
  assertIs(at, "fake-hardware", true);
  at.cloud.use(() => null);
  delete at.cloud.rules.keeps;
  await undone(at);
});
