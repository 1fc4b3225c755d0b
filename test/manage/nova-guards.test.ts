import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/lib/json.ts";
import { actsOf } from "../../src/manage/steps/manage-acts.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { instead } from "../support/faulty-service.ts";
import { assertIs, backEnds, forwardEnds, serverIn, undone } from "./nova-expect.ts";
import { ID, type NovaInMemory, OWN, RIVAL } from "./nova-memory.ts";
import { back, begun, forward, machinesOf, scene, watched } from "./nova-ways.ts";
import { BROKEN, writes } from "./scene.ts";

/** What somebody does: fields of the node that are other then, or anything else. */
type Deed = JsonObject | ((cloud: NovaInMemory) => void);
type Change = (call: string, cloud: NovaInMemory) => void;

/** What somebody does to a machine once these calls were heard, one after the other. */
function after(calls: readonly RegExp[], deed: Deed): Change {
  const open = [...calls];
  return (call, cloud) => {
    if (open[0]?.test(call) !== true) return;
    open.shift();
    if (open.length > 0) return;
    if (typeof deed === "function") deed(cloud);
    else Object.assign(cloud.node, deed);
  };
}

const HOLD = /^PUT .*maintenance$/;
const FREED = /^PUT .*provision$/;
const RELEASED = /^DELETE .*maintenance$/;
const OFFER = /inventories$/;
const NODE = /^GET .*nodes\/[^/?]*$/;
const ASKED = /^POST \/servers$/;
const TURNED = /action$/;
const PORT = /^PUT .*ports/;
const DRIVER = /^PATCH .*nodes\/[^?]*$/;
const ADOPT = FREED;
/** It is off in Ironic's book once it is deployed, so that Nova has to stop its server and start it. */
const FORGETS = { forgets: true } as const;
const REAL = { driver: "ipmi" };
const OTHER = { instance_uuid: RIVAL };
const OFF = { power_state: "power off" };

type Meanwhile = readonly [what: string, Change, why: RegExp, never: RegExp];

/** What somebody does once these calls were heard, each with why it ends, and a call that is not made from then on. */
function meanwhile(
  when: string,
  calls: readonly RegExp[],
  never: RegExp,
  deeds: readonly (readonly [what: string, Deed, why: RegExp])[],
): readonly Meanwhile[] {
  return deeds.map(([what, deed, why]) => [`${what} ${when}`, after(calls, deed), why, never]);
}

const MEANWHILE: readonly Meanwhile[] = [
  ...meanwhile("while Nova is waited for", [FREED, OFFER], ASKED, [
    ["its real driver is back", REAL, /not free on fake hardware: driver is ipmi/],
    ["its cleaning is on again", { automated_clean: null }, /not free on .*: automated_clean/],
    ["another has it", OTHER, /not free on fake hardware: it has instance/],
  ]),
  ...meanwhile("once it is free", [FREED, NODE], RELEASED, [
    [
      "its real driver is back, and it is off,",
      { ...REAL, ...OFF },
      /not completely on .*: driver is ipmi/,
    ],
  ]),
  ...meanwhile("once it is held", [HOLD, NODE], FREED, [
    ["another has it", OTHER, /changed in the meantime: it already has instance/],
    ["it has an allocation", { allocation_uuid: RIVAL }, /in the meantime: it has allocation/],
    ["it is protected", { protected: true }, /in the meantime: protected is true, and was false/],
    ["it is rescued", { provision_state: "rescue" }, /changed in the meantime: it is rescue/],
    ["its instance_info is other", { instance_info: {} }, /in the meantime: instance_info/],
  ]),
  ...meanwhile("before its driver is exchanged", [HOLD, PORT], /reset_interfaces/, [
    [
      "somebody ends its maintenance",
      { maintenance: false, maintenance_reason: null },
      /not in the maintenance of this run; it is held/,
    ],
    [
      "it is being turned off",
      { target_power_state: "power off" },
      /power_state is power off, and was power on; it is held/,
    ],
  ]),
  ...meanwhile("once it is on fake hardware", [/reset_interfaces/], FREED, [
    ["another has it", OTHER, /it has instance .*not created by this run/],
  ]),
  ...meanwhile("right before its driver is back", [ASKED, HOLD, NODE], DRIVER, [
    [
      "its maintenance is ended",
      { maintenance: false },
      /not in the maintenance of this run.*held/,
    ],
  ]),
  ...meanwhile("right before its maintenance ends", [ASKED, PORT], RELEASED, [
    ["it is off", OFF, /power_state is power off.*it keeps its own hardware; it is held/],
    [
      "its boot interface is another",
      { boot_interface: "pxe" },
      /it has changed: boot_interface is pxe.*it stays on fake hardware; it is held/,
    ],
    ["another has it", OTHER, /instance_uuid is .*it stays on fake hardware; it is held/],
    [
      "its server is stopped",
      (cloud) => Object.assign(serverIn(cloud), { status: "SHUTOFF" }),
      /is SHUTOFF.*it stays on fake hardware; it is held/,
    ],
  ]),
  ...meanwhile("before it is given back", [ASKED, HOLD], PORT, [
    [
      "its port is another's",
      ({ port }) => Object.assign(port, { device_id: RIVAL }),
      /belongs to compute:nova .* now; it stays on fake hardware; it is held/,
    ],
  ]),
];

const STOPPED: Meanwhile = [
  ...([
    "its real driver is back while Nova stops its server",
    after([TURNED, /servers/], REAL),
  ] as const),
  /not completely on fake hardware: driver is ipmi/,
  TURNED,
];

for (const [[what, change, why, never], rules] of [
  ...MEANWHILE.map((one) => [one, {}] as const),
  [STOPPED, FORGETS] as const,
])
  test(`somebody changes it on the way there, and it is held: ${what}`, async (t) => {
    const at = await scene(t, rules);
    let changed: number | null = null;
    const before = () => JSON.stringify([at.cloud.node, at.cloud.port, [...at.cloud.servers]]);
    at.cloud.use((call) => {
      const was = before();
      change(call, at.cloud);
      if (was !== before()) changed ??= at.cloud.calls.length;
    });
    await forwardEnds(at, why);
    assert.equal(at.cloud.node.maintenance, true);
    assert.notEqual(changed, null);
    const since = at.cloud.calls.slice(changed ?? 0);
    assert.ok(!since.some((call) => never.test(call)), since.join());
    // After such a change Nova or a conductor powers the machine, not this tool.
    at.cloud.heard.splice(0);
  });

test("no try of asking for a server is made again once its real driver is back", async (t) => {
  const at = await scene(t);
  at.cloud.use((call) => {
    if (!ASKED.test(call)) return null;
    at.cloud.node.driver = "ipmi";
    return instead(503);
  });
  await forwardEnds(at, /driver is ipmi; it is held in maintenance/);
  assert.equal(at.cloud.calls.filter((call) => ASKED.test(call)).length, 1);
  assert.equal(at.cloud.node.maintenance, true);
});

test("what fails on fake hardware is held there, also where nobody answers, and is gone on from", async (t) => {
  const at = await scene(t, FORGETS);
  for (const fails of [ASKED, TURNED]) {
    at.cloud.fail(fails, BROKEN);
    await assert.rejects(forward(at), /N2I-E210|it is held in maintenance/);
    assertIs(at, "fake-hardware", true);
  }
  at.cloud.use(() => null);
  assert.deepEqual(await forward(at), []);
  assertIs(at, "ipmi", false);
});

test("what changes while it is watched keeps its mark, and is held", async (t) => {
  const at = await scene(t);
  at.cloud.use((call) => {
    if (RELEASED.test(call) && at.cloud.node.driver === "ipmi")
      at.cloud.node.boot_interface = "pxe";
  });
  await forwardEnds(watched(at), /boot_interface is pxe.*it is held/);
  assert.ok(Object.values(at.cloud.node.extra ?? {}).includes(OWN));
  assert.equal(at.cloud.node.maintenance, true);
});

for (const [what, fault] of Object.entries({
  "it is locked": instead(409, { error_message: "node 1 is locked by host c" }),
  "it is refused": instead(400),
  "the login may not": instead(403),
  "Ironic fails": instead(503),
}))
  test(`a machine that was handed out is not touched because its mark stays: ${what}`, async (t) => {
    const at = await scene(t);
    const { node, servers, calls } = at.cloud;
    let from = 0;
    at.cloud.use((call) => {
      const isLast = DRIVER.test(call) && node.maintenance === false;
      if (!isLast || node.driver !== "ipmi" || servers.size === 0) return null;
      from = from === 0 ? calls.length : from;
      return fault;
    });
    await forwardEnds(at, /^its mark was not removed: (?!.*held)/);
    // Its user goes on with his machine, and the same command comes once more.
    const theirs = { power_state: "power off", provision_state: "rebuild", instance_info: {} };
    Object.assign(node, theirs);
    at.cloud.machine.power_state = "power off";
    at.cloud.port.dns_name = "theirs";
    const before = at.cloud.dump();
    await forwardEnds(at, /^its mark was not removed/);
    assert.equal(at.cloud.dump(), before);
    at.cloud.use(() => null);
    assert.deepEqual(await forward(at), []);
    assert.deepEqual(node.extra, { rack: 1 });
    assert.equal((await machinesOf(at)).get(ID)?.open, false);
    assert.deepEqual([...new Set(writes(at.cloud, from - 1))], [`PATCH /v1/nodes/${ID}`]);
    assert.equal(servers.size, 1);
  });

for (const isHeld of [true, false])
  test(`what its way back left on fake hardware is not in service: ${isHeld ? "held" : "let go by somebody"}`, async (t) => {
    const at = await begun(t);
    const { node, servers } = at.cloud;
    at.cloud.fail(/^DELETE .servers/, BROKEN);
    await assert.rejects(back(at));
    assert.equal(node.driver, "fake-hardware");
    at.cloud.use(() => null);
    if (!isHeld) Object.assign(node, { maintenance: false, maintenance_reason: null });
    await forwardEnds(at, /its rollback was started.*it is held/);
    assert.deepEqual(await back(at), []);
    assert.equal(servers.size, 0);
  });

test("secrets that come between the look and the first step are not journalled", async (t) => {
  const at = await scene(t);
  at.cloud.once(/volume\/targets/, () => {
    at.cloud.node.instance_info = { configdrive: "s3cret" };
  });
  await forwardEnds(at, /secrets/);
  assert.ok(!JSON.stringify((await readJournal(at.run)).entries).includes("s3cret"));
});

test("a server that was called otherwise before its uuid was known is taken away too", async (t) => {
  const at = await begun(t, 6);
  serverIn(at.cloud).name = "mine";
  at.cloud.use((call) => {
    const name = /[?&]name=([^&]*)/.exec(call)?.[1];
    const like = new RegExp(decodeURIComponent(name ?? ""));
    return like.test("mine") ? null : instead(200, { servers: [] });
  });
  await undone(at);
});

for (const [what, calls, deed, why, driver] of [
  [
    ...(["it is off", [ADOPT, PORT], OFF] as const),
    /power_state is power off.*it keeps its own hardware, in maintenance/,
    "ipmi",
  ],
  ["another has it", [ADOPT, PORT], OTHER, /it has instance/, "fake-hardware"],
  [
    "another has it on fake hardware",
    [ADOPT, ADOPT, NODE],
    OTHER,
    /it has instance/,
    "fake-hardware",
  ],
] as const)
  test(`somebody changes it at the end of its way back, and it is held: ${what}`, async (t) => {
    const at = await begun(t);
    const change = after(calls, deed);
    at.cloud.use((call) => {
      change(call, at.cloud);
    });
    await backEnds(at, why);
    assertIs(at, driver, true);
  });

test("a step of the journal that this tool does not know is no step", () => {
  const observed = [{ step: "hold", server: OWN, name: "web-1" }, { step: "later" }];
  assert.throws(() => actsOf(ID, { observed } as never), { code: "N2I-E112" });
});

test("a zone that names a machine is the one place that names it", async (t) => {
  const at = await scene(t);
  const { servers } = at.hands;
  Object.assign(at.cloud.node, { provision_state: "available" });
  Object.assign(at.cloud.port, { device_id: "" });
  const asked = { name: "web-1", description: null, flavor: "gold", image: null, ports: [] };
  const named = "ABCDEF00-0000-4000-8000-00000000000A";
  const words = { ...asked, metadata: {}, node: ID, zone: `nova:bm-1:${named}` };
  const made = await servers.create(words, {
    ...{ mark: OWN, isNew: true },
    may: () => Promise.resolve(null),
  });
  assert.equal(typeof made, "object", String(made));
});
