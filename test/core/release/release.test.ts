import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Pace,
  type Planned,
  type Releasing,
  release,
} from "../../../src/core/release/release.ts";
import { releasedNodes, restage } from "../../../src/core/release/restage.ts";
import type { Handover, Observed, ReleaseEntry } from "../../../src/model/handover.ts";
import type { Conductor } from "../../../src/model/service.ts";
import { STAGED } from "../../../src/model/staged.ts";

const LAB = { hostname: "lab", alive: true };
const PACE: Pace = { inFlight: 2, every: 0, deadline: 100, maxFailures: 1 };

test("no more machines are under way than the pace allows, and all get there", async () => {
  const world = ironic(10, { takes: 5 });
  const result = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual({ ...result, trouble: [] }, { ...NOTHING, released: 10, done: 10 });
  assert.equal(world.most(), 2);
  assert.equal(releasedNodes(world.entries).size, 10);
});

test("from one release to the next passes the time that was asked for", async () => {
  const world = ironic(4, { takes: 0 });
  await release(world.plan(), world.releasing(), { ...PACE, every: 20_000 });
  const at = world.entries.flatMap((entry) => (entry.do === "open" ? [] : [Date.parse(entry.at)]));
  assert.deepEqual(at, [0, 20_000, 40_000, 60_000]);
});

test("a machine that fails lets no other go, and those under way are watched to their end", async () => {
  const world = ironic(10, { takes: 3, fails: { n3: "no route to host" } });
  const result = await release(world.plan(), world.releasing(), { ...PACE, inFlight: 3 });
  assert.deepEqual(
    result.trouble.map(({ uuid, why }) => [uuid, why]),
    [["n3", "take-over failed: no route to host"]],
  );
  assert.equal(result.done, result.released - 1);
  assert.ok(result.released < 10 && result.waiting === 0);
});

test("a machine that failed in an earlier run is told, and does not end this one", async () => {
  const world = ironic(6, { takes: 3, fails: { n1: "no route to host" } });
  const first = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual([first.trouble.length, first.before], [1, 0]);
  const second = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual([second.trouble.length, second.before], [1, 1]);
  assert.deepEqual([first.released + second.released, second.done], [6, 5]);
});

test("a machine whose conductor died is waited for until another one has it", async () => {
  const world = ironic(2, { takes: 2 });
  await release(world.plan(), world.releasing(), PACE);
  world.change("n1", { taker: { hostname: "other", alive: false }, last_error: null });
  world.at(20, () => world.change("n1", { taker: null }));
  const found = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual([found.released, found.done, found.trouble], [0, 2, []]);
  assert.ok(world.now() >= 20_000);
  world.change("n2", { taker: { hostname: null, alive: false } });
  const { trouble } = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual(
    trouble.map(({ uuid, why }) => [uuid, why]),
    [
      [
        "n2",
        "no conductor took it over in 100 s: the conductor that took it over is no longer in Ironic",
      ],
    ],
  );
});

test("a machine nobody takes over in time has failed", async () => {
  const world = ironic(2, { takes: 1_000_000 });
  const result = await release(world.plan(), world.releasing(), PACE);
  assert.match(result.trouble[0]?.why ?? "", /^no conductor took it over in 100 s$/);
});

test("a machine no living conductor would take stays staged, and ends it", async () => {
  for (const [conductors, says] of [
    [[], /^there is no conductor$/],
    [[{ ...CONDUCTOR, alive: false }], /^no conductor is alive: lab$/],
    [[{ ...CONDUCTOR, group: "rack7" }], /^there is no conductor$/],
    [[{ ...CONDUCTOR, drivers: ["redfish"] }], /^no conductor that is alive has ipmi: lab$/],
  ] as const) {
    const world = ironic(3, { takes: 1 });
    world.conductors(...conductors);
    const { released, trouble } = await release(world.plan(), world.releasing(), PACE);
    assert.deepEqual([released, world.entries, trouble.length], [0, [], 1]);
    assert.equal(trouble[0]?.standing, "staged");
    assert.match(trouble[0]?.why ?? "", says);
  }
});

test("when the last conductor dies nothing is waited for, and the same command goes on", async () => {
  const world = ironic(6, { takes: 10 });
  const other = { ...CONDUCTOR, hostname: "other" };
  world.conductors(CONDUCTOR, other);
  world.at(12, () => world.conductors({ ...CONDUCTOR, alive: false }, other));
  world.at(15, () => world.conductors({ ...CONDUCTOR, alive: false }));
  const first = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual(first.notices, ["conductor lab died", "conductor other died"]);
  assert.deepEqual([first.released, first.done, first.waiting], [4, 2, 0]);
  for (const { standing, why } of first.trouble)
    assert.deepEqual([standing, why], ["failed", "no conductor is alive: lab"]);
  world.conductors(CONDUCTOR);
  const second = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual([second.released, second.done, second.trouble], [2, 6, []]);
});

test("a machine that is not taken over comes with what the conductor's log says of it", async () => {
  const world = ironic(1, { takes: 1_000_000 });
  const ended = "2026-01-01 00:00:02.000 7 ERROR futurist _sync_local_state: ansible";
  world.at(2, () => world.logs("2026-01-01 00:00:02.000 7 INFO nothing of it", ended));
  const { trouble, notices } = await release(world.plan(), world.releasing(), PACE);
  assert.deepEqual(trouble[0]?.log, [ended]);
  assert.deepEqual(notices, [`take-over of all machines fails: ${ended}`]);
});

test("a machine a conductor has reserved is released when it lets go", async () => {
  const world = ironic(1, { takes: 1 });
  world.reserve("n1", "lab");
  const released = release(world.plan(), world.releasing(), PACE);
  world.at(7, () => world.reserve("n1", null));
  assert.equal((await released).done, 1);
});

test("stopped on request it leaves the rest staged, and goes on with the same command", async () => {
  const world = ironic(6, { takes: 2 });
  let asked = 0;
  const stopping = (): boolean => {
    asked += 1;
    return asked > 6;
  };
  const first = await release(world.plan(), { ...world.releasing(), stopping }, PACE);
  assert.ok(first.stopped && first.released < 6);
  const second = await release(world.plan(), world.releasing(), PACE);
  assert.equal(first.released + second.released, 6);
  assert.equal(second.done, 6);
});

test("what was released is staged again, but for a machine that is in another's maintenance", async () => {
  const world = ironic(3, { takes: 1 });
  await release(world.plan(), world.releasing(), PACE);
  world.hold("n2", "fans broken");
  const { staged, left } = await restage(world.plan(), world.releasing(), 60);
  assert.equal(staged, 2);
  assert.deepEqual(
    left.map(({ uuid, why }) => [uuid, why]),
    [["n2", "in maintenance: fans broken"]],
  );
  assert.deepEqual([...releasedNodes(world.entries)], ["n2"]);
  assert.equal((await restage(world.plan(), world.releasing(), 60)).staged, 0);
});

test("a machine a conductor works on is staged again when it lets go, or named with its conductor", async () => {
  const world = ironic(4, { takes: 1 });
  await release(world.plan(), world.releasing(), PACE);
  world.reserve("n1", "lab");
  world.reserve("n3", "rack7-conductor");
  world.at(30, () => world.reserve("n1", null));
  const { staged, left } = await restage(world.plan(), world.releasing(), 60);
  assert.equal(staged, 3);
  assert.deepEqual(
    left.map(({ uuid, why, fix }) => [uuid, why, fix]),
    [["n3", "rack7-conductor is working on it", "Run the same command again."]],
  );
  assert.deepEqual([...releasedNodes(world.entries)], ["n3"]);
});

const NOTHING = {
  released: 0,
  done: 0,
  held: 0,
  waiting: 0,
  trouble: [],
  before: 0,
  notices: [],
  stopped: false,
};

interface Nature {
  /** Seconds a conductor needs for a machine. */
  readonly takes: number;
  /** What it says of a machine instead of taking it over. */
  readonly fails?: { readonly [uuid: string]: string };
}

/** An Ironic that takes machines over by a clock that only sleeping moves. */
function ironic(count: number, { takes, fails = {} }: Nature) {
  const uuids = Array.from({ length: count }, (_, at) => `n${at + 1}`);
  const rows = new Map(uuids.map((uuid) => [uuid, { ...ROW, since: 0 }]));
  const entries: ReleaseEntry[] = [];
  let events: readonly { readonly second: number; readonly work: () => void }[] = [];
  let [now, most] = [0, 0];
  const row = (uuid: string) => rows.get(uuid) ?? { ...ROW, since: 0 };
  const look = (uuid: string): Observed => {
    const { since, ...here } = row(uuid);
    if (here.maintenance || now - since < takes * 1000) return here;
    const last_error = fails[uuid] ?? null;
    if (last_error !== null) return { ...here, last_error };
    return { ...here, taker: here.taker ?? LAB };
  };
  const set = (uuid: string, from: boolean, to: boolean): Promise<boolean> => {
    const { maintenance, reservation } = row(uuid);
    if (maintenance !== from || reservation !== null) return Promise.resolve(false);
    if (maintenance && row(uuid).maintenance_reason !== STAGED) return Promise.resolve(false);
    const maintenance_reason = to ? STAGED : null;
    rows.set(uuid, { ...row(uuid), maintenance: to, maintenance_reason, since: now });
    const under = uuids.map(look).filter((one) => !one.maintenance && one.taker === null);
    most = Math.max(most, under.length);
    return Promise.resolve(true);
  };
  const handover: Handover = {
    observe: (asked) => Promise.resolve(new Map(asked.map((uuid) => [uuid, look(uuid)]))),
    clear: (uuid) => set(uuid, true, false),
    stage: (uuid) => set(uuid, false, true),
    service: () => Promise.resolve({ conductors, interfaces: null }),
  };
  let conductors: readonly Conductor[] = [CONDUCTOR];
  let lines: readonly string[] = [];
  const log = {
    read: () => {
      const gained = lines;
      lines = [];
      return Promise.resolve(gained);
    },
  };
  const sleep = (milliseconds: number): Promise<void> => {
    now += milliseconds;
    const due = events.filter(({ second }) => now >= second * 1000);
    events = events.filter((event) => !due.includes(event));
    for (const { work } of due) work();
    return Promise.resolve();
  };
  const releasing = (): Releasing => ({
    handover,
    journal: { entries: () => entries, append: async (entry) => void entries.push(entry) },
    clock: { now: () => now, sleep },
    by: "a test",
    stopping: () => false,
    logs: [log],
    progress: () => {},
  });
  const change = (uuid: string, values: Partial<Observed>): void =>
    void rows.set(uuid, { ...row(uuid), ...values });
  return {
    entries,
    releasing,
    change,
    now: () => now,
    most: () => most,
    at: (second: number, work: () => void) => {
      events = [...events, { second, work }];
    },
    reserve: (uuid: string, reservation: string | null) => change(uuid, { reservation }),
    conductors: (...now: readonly Conductor[]) => {
      conductors = now;
    },
    logs: (...gained: readonly string[]) => {
      lines = gained;
    },
    hold: (uuid: string, maintenance_reason: string) =>
      change(uuid, { maintenance: true, maintenance_reason }),
    async *plan(): AsyncGenerator<readonly Planned[]> {
      yield uuids.map((uuid, at) => ({ uuid, bm_node_id: at + 1, row: { ...PLANNED, uuid } }));
    },
  };
}

const CONDUCTOR: Conductor = { hostname: "lab", group: "", alive: true, drivers: ["ipmi"] };
const ROW: Observed = {
  provision_state: "active",
  maintenance: true,
  maintenance_reason: STAGED,
  taker: null,
  reservation: null,
  last_error: null,
};
const PLANNED = { driver: "ipmi", provision_state: "active", maintenance: false };
