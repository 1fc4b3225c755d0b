import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { runWindow } from "../../src/engine/window.ts";
import { ONE_BY_ONE } from "../../src/engine/window-part.ts";
import type { Json } from "../../src/lib/json.ts";
import { once } from "../../src/lib/streams.ts";
import type { NovaClients } from "../../src/manage/nova-clients.ts";
import { novaPart } from "../../src/manage/steps/manage-nova.ts";
import { maintenanceFor } from "../../src/manage/steps/manage-nova-create.ts";
import type { RunningNode } from "../../src/model/ironic/manage.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { firstAlone } from "../../src/systems/ironic-api/pool.ts";
import type { NovaServer } from "../../src/systems/nova-api/server-state.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "./in-memory.ts";
import { REQUEST } from "./nova-ways.ts";

type Node = Record<string, Json>;

const REAL = { driver: "ipmi", power_interface: "ipmitool", boot_interface: "ipxe" };
const FAKED = { driver: "fake-hardware", power_interface: "fake", boot_interface: "fake" };

function node(at: number): Node {
  return {
    ...{ uuid: uuidOf(1, at), ...REAL, automated_clean: null, power_state: "power on" },
    ...{ provision_state: "active", instance_uuid: null, maintenance: false, extra: {} },
    ...{ maintenance_reason: null, instance_info: {}, resource_class: "gold" },
  };
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await turn();
}

/** So many machines, of a Nova whose resource tracker looks once all of them wait. */
function tracked(count: number) {
  const nodes = new Map(
    Array.from({ length: count }, (_, index) => {
      const one = node(index + 1);
      return [String(one.uuid), one] as const;
    }),
  );
  const servers = new Map<string, NovaServer>();
  const waiting = new Set<string>();
  const of = (id: string): Node => nodes.get(id) ?? {};
  const fine = (id: string, fields: Node): Promise<null> => {
    Object.assign(of(id), fields);
    return Promise.resolve(null);
  };
  const held = (id: string, reason: string | null): Promise<null> =>
    fine(id, { maintenance: reason !== null, maintenance_reason: reason });
  const hardware = {
    read: (id: string) => Promise.resolve({ ...of(id) }),
    maintain: held,
    release: async (id: string, _reason: string, may: (now: Node) => unknown) =>
      (await may(of(id))) === null ? held(id, null) : "it may not",
    fake: (id: string) => fine(id, { ...FAKED, automated_clean: false }),
    apply: (id: string) => fine(id, { provision_state: "available" }),
    power: (id: string, power_state: string) => fine(id, { power_state }),
    swap: async (id: string, before: Node, { may }: { may: (now: Node) => unknown }) =>
      (await may(of(id))) === null ? fine(id, before) : "it may not",
  };
  const made = {
    /** Looks of Nova's resource tracker, each once all that it can hear of wait for it. */
    looks: 0,
    /** Machines that were looked at whole. */
    seen: 0,
    /** Servers that Ironic was not told of yet, whenever one was asked for. */
    building: [] as number[],
  };
  let building = 0;
  /** Machines of which the server is to be asked for. */
  let arrived = 0;
  const gate = firstAlone(60_000);
  const alone: typeof gate = (work) => {
    arrived += 1;
    return gate(work);
  };
  const own = {
    alone,
    hardware,
    recordClient: {
      reserve: (id: string, server: string) => {
        of(id).extra = { nova2ironic_manage: server };
        return Promise.resolve({ now: of(id) });
      },
      release: (id: string) => fine(id, { extra: {} }),
    },
    servers: {
      isUntouched: () => Promise.resolve(true),
      find: (mark: string) => Promise.resolve(servers.get(mark) ?? null),
      read: (id: string) => Promise.resolve(servers.get(id) ?? null),
      async built({ id }: { id: string }) {
        await until(() => of(servers.get(id)?.node ?? "").instance_uuid === id);
        return servers.get(id) ?? null;
      },
      create: ({ node: on }: { node: string }, { mark }: { mark: string }) => {
        const id = mark.replace(/^./, "f");
        building += 1;
        made.building.push(building);
        const server = {
          ...{ id, status: "ACTIVE", task: null, node: on },
          ...{ seesNode: true, fault: "", locked: false },
        };
        servers.set(mark, server).set(id, server);
        // Its nova-compute tells Ironic once all others wait for the first, or were asked for as well.
        const isFirst = made.building.length === 1;
        void until(() => (isFirst ? arrived : made.building.length) === count).then(() => {
          building -= 1;
          Object.assign(of(on), { provision_state: "active", instance_uuid: id });
        });
        return Promise.resolve(server);
      },
      turn: (id: string, status: string) => {
        const server = servers.get(id);
        if (server !== undefined) servers.set(id, { ...server, status });
        const power_state = status === "ACTIVE" ? "power on" : "power off";
        return fine(server?.node ?? "", { power_state });
      },
    },
    offers: {
      of: (id: string) => {
        waiting.add(id);
        if (waiting.size === count && made.looks === 0) made.looks += 1;
        return Promise.resolve({ total: 1, reserved: made.looks === 0 ? 1 : 0, totals: new Map() });
      },
    },
    read: ({ id }: { id: string }) => {
      made.seen += 1;
      return Promise.resolve({
        node: { ...of(id), nics: [] } as unknown as RunningNode, // what a part looks at of it
        record: null,
        ports: new Map(),
      });
    },
    rejections: () => Promise.resolve([]),
    portsOf: () => [],
    requestedOf: (_asked: unknown, node: string) => ({ node }),
    ...{ watch: 0, clock: { now: () => 0, sleep: () => Promise.resolve() } },
  };
  return Object.assign(made, { nodes, hands: own as unknown as NovaClients }); // for the way there
}

/** Makes servers of all of them, so many at once. */
function legOf({ nodes, hands }: ReturnType<typeof tracked>, count: number) {
  const changes = [...nodes.keys()].map((id, index) => ({
    ...{ id, server: uuidOf(7, index + 1), acts: [] },
    request: { ...REQUEST, node: id, name: `web-${index}` },
  }));
  const pace = { ...ONE_BY_ONE, concurrency: count, inFlight: count };
  const leg = { part: novaPart(hands, count), command: "manage", pace };
  return { ...leg, changes: () => once(changes) };
}

test("all machines under way are on fake hardware before Nova's resource tracker is waited for, once", async (t) => {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const count = 4;
  const at = tracked(count);
  const why: string[] = [];
  const servers = new Map<string, string | undefined>();
  await during(await openRun(privateFolder(t), { create: true }), async (session) => {
    await runWindow("forward", legOf(at, count), session, ({ change, position }) => {
      why.push(...position.reasons);
      servers.set(change.id, position.view.record?.uuid);
    });
  });
  assert.deepEqual(why, []);
  assert.equal(at.looks, 1);
  // Nova's first server is alone until its nova-compute has told Ironic, and all others are then asked for at once.
  assert.deepEqual(at.building.slice(0, 2), [1, 1]);
  assert.equal(Math.max(...at.building), count - 1);
  // What the last step has seen is told: nothing is asked of a machine that came to its end.
  assert.equal(at.seen, 2 * count);
  for (const [id, { instance_uuid }] of at.nodes) assert.equal(servers.get(id), instance_uuid);
  for (const { driver, maintenance, instance_uuid } of at.nodes.values())
    assert.deepEqual([driver, maintenance, typeof instance_uuid], ["ipmi", false, "string"]);
  assert.match(maintenanceFor("x"), /x$/);
});

test("after a quota of Nova no other machine is begun", async (t) => {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const at = tracked(3);
  const asked: string[] = [];
  const create = ({ node }: { readonly node: string }) => {
    asked.push(node);
    return Promise.resolve({ over: "server web is refused: Quota exceeded" });
  };
  // Its one machine is offered at once.
  const offers = { of: () => Promise.resolve({ total: 1, reserved: 0, totals: new Map() }) };
  const servers = { ...at.hands.servers, create };
  const hands = { ...at.hands, servers, offers } as unknown as NovaClients;
  const ids = [...at.nodes.keys()];
  const why: string[] = [];
  await during(await openRun(privateFolder(t), { create: true }), async (session) => {
    await runWindow("forward", legOf({ ...at, hands }, 1), session, ({ position }) => {
      why.push(position.reasons.join());
    });
  });
  assert.deepEqual(asked, ids.slice(0, 1));
  const [first = "", ...others] = why;
  assert.match(first, /^server web is refused: Quota exceeded; it is held in maintenance/);
  const same = "not begun: server web is refused: Quota exceeded";
  assert.deepEqual(others, [same, same]);
  const drivers = ids.map((id) => at.nodes.get(id)?.driver);
  assert.deepEqual(drivers, ["fake-hardware", "ipmi", "ipmi"]);
});
