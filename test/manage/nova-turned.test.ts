import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { managedIn } from "../../src/manage/manage-run.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { uuidOf } from "./in-memory.ts";
import type { NovaInMemory } from "./nova-memory.ts";
import { back, backEnds, begun, forward, forwardEnds, scene, watched } from "./nova-ways.ts";
import { writes } from "./scene.ts";

const STATES = ["power on", "power off"] as const;
type State = (typeof STATES)[number];
const THERE = 12;
const RIVAL = uuidOf(9, 9);

/** Its user turns it on or off, by Nova where it has a server. */
function turn({ node, machine, servers }: NovaInMemory, to: State): void {
  node.power_state = to;
  machine.power_state = to;
  for (const server of servers.values()) server.status = to === "power on" ? "ACTIVE" : "SHUTOFF";
}

const NEXT = { "the same command": [forward, back], rollback: [back] } as const;

for (const was of STATES)
  for (const [what, words] of Object.entries(NEXT))
    test(`a machine that was ${was} stays as its user turns it between a death and ${what}`, async (t) => {
      const other = STATES.find((state) => state !== was) ?? was;
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
        assert.deepEqual(
          [...servers.keys()].filter((id) => kept.includes(id)),
          kept,
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
      const other = STATES.find((state) => state !== was) ?? was;
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
      const { driver, power_state, maintenance } = node;
      assert.deepEqual([driver, power_state, maintenance], ["ipmi", other, true]);
      assert.deepEqual([[...servers.keys()], at.cloud.heard], [kept, []]);
    });

/** Nova's power sync follows a machine that is off, and stops one that is on where it knows its server as stopped. */
function novaLooks({ node, servers }: NovaInMemory): void {
  const own = servers.get(String(node.instance_uuid));
  if (node.power_state === "power off" && own?.status === "ACTIVE") own.status = "SHUTOFF";
}

for (const was of STATES)
  for (const say of [forward, back])
    test(`a machine that was ${was} and is turned by Ironic alone ${say === back ? "on its way back" : "once its hardware is back"} is held, and it is said what Nova does`, async (t) => {
      const other = STATES.find((state) => state !== was) ?? was;
      const at = await scene(t);
      const { node, machine, servers } = at.cloud;
      turn(at.cloud, was);
      if (say === back) await forward(at);
      let open = true;
      at.cloud.use((call) => {
        const isBack = node.driver === "ipmi" && servers.size > 0;
        if (open && isBack && (say === forward ? /^PUT .*ports/ : /maintenance$/).test(call)) {
          open = false;
          node.power_state = other;
          machine.power_state = other;
        }
        novaLooks(at.cloud);
      });
      const why = (await say(at)).join();
      assert.match(why, new RegExp(`power_state is ${other}, and was ${was}`));
      const told = /start server 8\S+ through Nova now, or Nova's power sync powers/.test(why);
      assert.equal(told, other === "power on", why);
      const { driver, power_state, maintenance } = node;
      assert.deepEqual([driver, power_state, maintenance], ["ipmi", other, true]);
      assert.equal(servers.size, 1);
      // Nobody but Nova itself would have switched it, and only where it is said.
      const heard = at.cloud.heard.splice(0);
      const byNova = heard.every((one) => one.startsWith("stopped by Nova"));
      assert.deepEqual([byNova, heard.length > 0], [true, other === "power on"]);
    });

test("a machine that was off and is turned on by Ironic alone while it is watched is held, and it is said what Nova does", async (t) => {
  const at = await scene(t);
  const { node, machine } = at.cloud;
  turn(at.cloud, "power off");
  at.cloud.once(
    (call) => /^DELETE .*maintenance$/.test(call) && node.driver === "ipmi",
    () => {
      node.power_state = "power on";
      machine.power_state = "power on";
    },
  );
  await forwardEnds(
    watched(at),
    /it has changed: power_state is power on.*start server 8\S+ through Nova now/,
  );
  assert.deepEqual([node.driver, node.maintenance, node.power_state], ["ipmi", true, "power on"]);
  assert.ok(at.cloud.heard.splice(0).every((one) => one.startsWith("stopped by Nova")));
});

for (const [what, task, says, told] of [
  [
    "Nova refuses to say",
    null,
    { status: 400, text: '{"badRequest":{"message":"x"}}' },
    "check that Nova does not stop server 8",
  ],
  ["Nova stops its server already", "powering-off", null, "start server 8"],
  ["Nova starts its server already", "powering-on", null, ""],
] as const)
  test(`why a machine that was turned on is held is said, whatever Nova says of its server: ${what}`, async (t) => {
    const at = await scene(t);
    const { node, machine, servers } = at.cloud;
    turn(at.cloud, "power off");
    await forward(at);
    let open = true;
    at.cloud.use((call) => {
      if (open && /maintenance$/.test(call)) {
        open = false;
        node.power_state = "power on";
        machine.power_state = "power on";
        for (const server of servers.values()) server["OS-EXT-STS:task_state"] = task;
      }
      return !open && says !== null && call.startsWith("GET /servers/8")
        ? { done: false, says }
        : null;
    });
    const why = (await back(at)).join();
    assert.match(why, /power_state is power on, and was power off/);
    assert.equal(why.includes(told), true, why);
    assert.equal(/check that Nova|start server/.test(why), told !== "", why);
    assert.deepEqual([node.driver, node.maintenance, servers.size], ["ipmi", true, 1]);
    assert.ok(at.cloud.heard.splice(0).every((one) => one.startsWith("stopped by Nova")));
  });

/** What an operator does to a machine whose run died before it was exchanged, and why it is not gone on with. */
const OTHERS: readonly (readonly [string, JsonObject, RegExp])[] = [
  ["another driver", { driver: "redfish" }, /driver is redfish/],
  ["another interface", { boot_interface: "pxe" }, /boot_interface is pxe/],
  [
    "another image",
    { instance_info: { image_source: "other" } },
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
      const { maintenance, driver = at.cloud.node.driver } = at.cloud.node;
      assert.deepEqual([maintenance, driver], [false, fields.driver ?? "ipmi"]);
      for (const [name, value] of Object.entries(fields))
        assert.deepEqual(at.cloud.node[name], value, `${name} after ${lines} lines`);
      assert.deepEqual([at.cloud.servers.size, at.cloud.heard], [0, []]);
    }
  });

test("a port that another server got between a death and the next word stays its own", async (t) => {
  const at = await scene(t);
  const { node, port, servers, heard } = at.cloud;
  await forward(at, 2);
  assert.equal(port.device_id, "", "it is freed");
  Object.assign(port, { device_id: RIVAL, device_owner: "compute:nova" });
  const before = JSON.stringify(port);
  await forwardEnds(at, /VIF .* belongs to compute:nova 9/);
  await backEnds(at, /port .* belongs to compute:nova 9/);
  assert.equal(JSON.stringify(port), before);
  assert.deepEqual([node.maintenance, node.driver, servers.size, heard], [false, "ipmi", 0, []]);
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
    assert.equal(managedIn((await readJournal(at.run)).entries).size, 0);
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
    const { maintenance, maintenance_reason } = at.cloud.node;
    assert.deepEqual({ maintenance, maintenance_reason }, theirs, String(when));
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
