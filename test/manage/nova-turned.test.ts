import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { instead } from "../support/faulty-service.ts";
import { assertIs, backEnds, forwardEnds, undone } from "./nova-expect.ts";
import { type NovaInMemory, RIVAL } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, scene, watched } from "./nova-ways.ts";
import { writes } from "./scene.ts";

const STATES = ["power on", "power off"] as const;
type State = (typeof STATES)[number];
const THERE = 12;
const otherThan = (was: State): State => (was === "power on" ? "power off" : "power on");

/** It is turned on or off by Ironic alone. */
function put({ node, machine }: Pick<NovaInMemory, "node" | "machine">, to: State): void {
  node.power_state = to;
  machine.power_state = to;
}

/** Its user turns it on or off, by Nova where it has a server. */
function turn({ servers, ...cloud }: NovaInMemory, to: State): void {
  put(cloud, to);
  for (const server of servers.values()) server.status = to === "power on" ? "ACTIVE" : "SHUTOFF";
}

/** Nova stops no server but one of a machine that is on, and that it knows as stopped. */
const byNova = ({ heard }: NovaInMemory): boolean =>
  heard.splice(0).every((one) => one.startsWith("stopped by Nova"));

const NEXT = { "the same command": [forward, back], rollback: [back] } as const;

for (const was of STATES)
  for (const [what, words] of Object.entries(NEXT))
    test(`a machine that was ${was} stays as its user turns it between a death and ${what}`, async (t) => {
      const other = otherThan(was);
      let turned = 0;
      for (let lines = 0; lines <= THERE; lines += 1) {
        const at = await scene(t);
        const { node, servers } = at.cloud;
        turn(at.cloud, was);
        await forward(at, lines);
        // On fake hardware nobody's word reaches it.
        if (node.driver !== "ipmi") continue;
        turned += 1;
        turn(at.cloud, other);
        const kept = [...servers.keys()];
        for (const say of words) await say(at);
        assert.deepEqual([node.driver, node.power_state], ["ipmi", other], `after ${lines} lines`);
        // Before it had a server one may be made of it as it is now, and taken back.
        assert.ok(
          kept.every((id) => servers.has(id)),
          `after ${lines} lines`,
        );
      }
      assert.ok(turned > 4 && turned < THERE, String(turned));
    });

/** Once these calls were heard, its user turns it. */
const TURNS: readonly (readonly [string, RegExp, typeof forward])[] = [
  ["while its ports are unbound", /^PUT .*ports/, forward],
  ["while its server is taken away", /^PUT .*maintenance$/, back],
];

for (const was of STATES)
  for (const [when, call, say] of TURNS)
    test(`a machine that was ${was} stays as its user turns it ${when}`, async (t) => {
      const other = otherThan(was);
      const at = await scene(t);
      const { node, servers } = at.cloud;
      turn(at.cloud, was);
      if (say === back) await forward(at);
      const kept = [...servers.keys()];
      at.cloud.once(call, () => turn(at.cloud, other));
      const why = (await say(at)).join();
      assert.match(why, new RegExp(`power_state is ${other}, and was ${was}`));
      // Nova knows it too, where it has a server.
      assert.doesNotMatch(why, /fake hardware|start server/);
      assertIs(at, "ipmi", true);
      const now = [node.power_state, [...servers.keys()], at.cloud.heard];
      assert.deepEqual(now, [other, kept, []]);
    });

/** Nova's power sync follows a machine that is off, and stops one that is on where it knows its server as stopped. */
function novaLooks({ node, servers }: NovaInMemory): void {
  const own = servers.get(String(node.instance_uuid));
  if (node.power_state === "power off" && own?.status === "ACTIVE") own.status = "SHUTOFF";
}

for (const was of STATES)
  for (const say of [forward, back])
    test(`a machine that was ${was} and is turned by Ironic alone ${say === back ? "on its way back" : "once its hardware is back"} is held, and it is said what Nova does`, async (t) => {
      const other = otherThan(was);
      const at = await scene(t);
      const { node, servers } = at.cloud;
      turn(at.cloud, was);
      if (say === back) await forward(at);
      let open = true;
      at.cloud.use((call) => {
        const isBack = node.driver === "ipmi" && servers.size > 0;
        if (open && isBack && (say === forward ? /^PUT .*ports/ : /maintenance$/).test(call)) {
          open = false;
          put(at.cloud, other);
        }
        novaLooks(at.cloud);
      });
      const why = (await say(at)).join();
      assert.match(why, new RegExp(`power_state is ${other}, and was ${was}`));
      const told = /start server 8\S+ through Nova now, or Nova's power sync powers/.test(why);
      assert.equal(told, other === "power on", why);
      assertIs(at, "ipmi", true, 1);
      // Nobody but Nova itself would have switched it, and only where it is said.
      const now = [node.power_state, at.cloud.heard.length > 0, byNova(at.cloud)];
      assert.deepEqual(now, [other, other === "power on", true]);
    });

test("a machine that was off and is turned on by Ironic alone while it is watched is held, and it is said what Nova does", async (t) => {
  const at = await scene(t);
  const { node } = at.cloud;
  turn(at.cloud, "power off");
  at.cloud.once(
    (call) => /^DELETE .*maintenance$/.test(call) && node.driver === "ipmi",
    () => put(at.cloud, "power on"),
  );
  const why = /it has changed: power_state is power on.*start server 8\S+ through Nova now/;
  await forwardEnds(watched(at), why);
  assertIs(at, "ipmi", true);
  assert.deepEqual([node.power_state, byNova(at.cloud)], ["power on", true]);
});

const REFUSES = instead(400, { badRequest: { message: "x" } });
for (const [what, task, fault, told] of [
  ["Nova refuses to say", null, REFUSES, "check that Nova does not stop server 8"],
  ["Nova stops its server already", "powering-off", null, "start server 8"],
  ["Nova starts its server already", "powering-on", null, ""],
] as const)
  test(`why a machine that was turned on is held is said, whatever Nova says of its server: ${what}`, async (t) => {
    const at = await scene(t);
    const { servers } = at.cloud;
    turn(at.cloud, "power off");
    await forward(at);
    let open = true;
    at.cloud.use((call) => {
      if (open && /maintenance$/.test(call)) {
        open = false;
        put(at.cloud, "power on");
        for (const server of servers.values()) server["OS-EXT-STS:task_state"] = task;
      }
      return !open && call.startsWith("GET /servers/8") ? fault : null;
    });
    const why = (await back(at)).join();
    assert.match(why, /power_state is power on, and was power off/);
    assert.equal(why.includes(told), true, why);
    assert.equal(/check that Nova|start server/.test(why), told !== "", why);
    assertIs(at, "ipmi", true, 1);
    assert.ok(byNova(at.cloud));
  });

/** What an operator does to a machine whose run died before it was exchanged, and why it is not gone on with. */
const OTHERS: readonly (readonly [string, JsonObject, RegExp])[] = [
  ["another driver", { driver: "redfish" }, /driver is redfish/],
  ["another interface", { boot_interface: "pxe" }, /boot_interface is pxe/],
  [
    ...(["another image", { instance_info: { image_source: "other" } }] as const),
    /changed in the meantime: .*(instance_info|image)/,
  ],
  ["an instance", { instance_uuid: RIVAL }, /it already has instance/],
  ["an allocation", { allocation_uuid: RIVAL }, /it (already has instance|has allocation)/],
];

for (const [what, fields, why] of OTHERS)
  test(`a machine that was given ${what} between a death and the next word keeps it`, async (t) => {
    for (const lines of [1, 2]) {
      const at = await begun(t, lines);
      Object.assign(at.cloud.node, fields);
      const before = JSON.stringify(at.cloud.node);
      await forwardEnds(at, why, `after ${lines} lines`);
      assert.equal(JSON.stringify(at.cloud.node), before, `after ${lines} lines`);
      await back(at);
      assertIs(at, String(fields.driver ?? "ipmi"), false, 0);
      assert.deepEqual({ ...at.cloud.node, ...fields }, at.cloud.node, `after ${lines} lines`);
      assert.deepEqual(at.cloud.heard, []);
    }
  });

test("a port that another server got between a death and the next word stays its own", async (t) => {
  const at = await begun(t, 2);
  const { port, heard } = at.cloud;
  assert.equal(port.device_id, "", "it is freed");
  Object.assign(port, { device_id: RIVAL, device_owner: "compute:nova" });
  const before = JSON.stringify(port);
  await forwardEnds(at, /VIF .* belongs to compute:nova 9/);
  await backEnds(at, /port .* belongs to compute:nova 9/);
  assert.equal(JSON.stringify(port), before);
  assertIs(at, "ipmi", false, 0);
  assert.deepEqual(heard, []);
});

test("a port that is taken right before it is freed is not freed", async (t) => {
  const at = await scene(t);
  const { port, servers } = at.cloud;
  // It was judged, before its hold and after.
  at.cloud.once(/^GET \/v2.0\/ports\/3/, () => Object.assign(port, { device_id: RIVAL }), 3);
  await forwardEnds(at, /port .* belongs to .* 9/);
  assert.deepEqual([port.device_id, servers.size], [RIVAL, 0]);
});

for (const state of ["active", "available"])
  test(`a machine whose server its user deleted, and that is ${state} since, is left as it is`, async (t) => {
    const at = await begun(t);
    at.cloud.servers.clear();
    Object.assign(at.cloud.port, { device_id: "", device_owner: "" });
    Object.assign(at.cloud.node, {
      ...{ instance_uuid: null, provision_state: state },
      instance_info: { image_source: "theirs" },
    });
    const [before, from] = [at.cloud.dump(), at.cloud.calls.length];
    assert.deepEqual(await back(at), []);
    assert.equal(at.cloud.dump(), before);
    assert.deepEqual(writes(at.cloud, from), []);
    assert.equal((await machinesOf(at)).size, 0);
  });

test("an operator's maintenance is neither taken over nor ended", async (t) => {
  const theirs = { maintenance: true, maintenance_reason: "a disk is changed" };
  // Before it is held, and once its driver is back.
  for (const when of [/^PATCH .*nodes\/[^?]*$/, /^PUT .*ports/]) {
    const at = await scene(t);
    const { node, servers } = at.cloud;
    at.cloud.once(
      (call) =>
        when.test(call) && node.driver === "ipmi" && (servers.size > 0 || !/ports/.test(call)),
      () => Object.assign(node, theirs),
    );
    await forward(at);
    assert.deepEqual({ ...node, ...theirs }, node, String(when));
  }
});

test("a port that another server has by then is left to it on the way back", async (t) => {
  const at = await begun(t);
  // Its server is gone by then.
  at.cloud.once(/^PUT .*provision$/, () =>
    Object.assign(at.cloud.port, { device_id: RIVAL, device_owner: "compute:nova" }),
  );
  await backEnds(at, /port .* belongs to compute:nova 9/);
  assert.equal(at.cloud.port.device_id, RIVAL);
  assert.deepEqual([at.cloud.servers.size, at.cloud.heard], [0, []]);
});

/** It has its own hardware, its server, and nothing of a run on it; it heard nothing. */
function given({ node, servers, heard }: NovaInMemory, was: State): void {
  const now = [node.driver, node.maintenance, node.power_state, heard];
  assert.deepEqual(now, ["ipmi", false, was, []]);
  const [server] = servers.values();
  assert.equal(server?.status, was === "power on" ? "ACTIVE" : "SHUTOFF");
}

for (const was of STATES)
  test(`a run whose machine is ${was}, and off on fake hardware, is resumed`, async (t) => {
    let standing = 0;
    for (let lines = 0; lines <= THERE; lines += 1) {
      const at = await scene(t, { forgets: true });
      const { node } = at.cloud;
      put(at.cloud, was);
      const before = at.cloud.dump();
      await forward(at, lines);
      if (node.driver !== "ipmi" && node.provision_state === "available") {
        node.power_state = "power off";
        standing += 1;
      }
      assert.deepEqual(await forward(at), [], `after ${lines} lines`);
      given(at.cloud, was);
      await undone({ ...at, before }, `after ${lines} lines`);
    }
    assert.ok(standing > 1, String(standing));
  });

for (const was of STATES)
  test(`a server that its user turns while its machine that is ${was} stands on fake hardware is turned back by the same command`, async (t) => {
    const at = await scene(t);
    const { node, servers } = at.cloud;
    put(at.cloud, was);
    const before = at.cloud.dump();
    const hasCome = at.cloud.once(
      (call) => servers.size > 0 && /^PUT .*maintenance$/.test(call),
      () => {
        const task = was === "power on" ? "powering-off" : "powering-on";
        for (const server of servers.values()) server["OS-EXT-STS:task_state"] = task;
      },
    );
    await forwardEnds(at, /it stays on fake hardware/);
    assert.ok(hasCome());
    // Nova comes to its end with it, where nothing is behind it.
    const [server] = servers.values();
    const isOn = was === "power on";
    Object.assign(server ?? {}, {
      ...{ status: isOn ? "SHUTOFF" : "ACTIVE", "OS-EXT-STS:task_state": null },
    });
    node.power_state = otherThan(was);
    assert.deepEqual(await forward(at), []);
    given(at.cloud, was);
    await undone({ ...at, before });
  });
