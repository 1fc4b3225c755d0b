import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type JsonObject, objectOf } from "../../src/lib/json.ts";
import type { SwitchStepName } from "../../src/switchover/rules/switching.ts";
import { runs, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { connect } from "../lab/connect.ts";
import { freePort } from "../lab/daemon.ts";
import { needs } from "../lab/index.ts";
import { type Api, apiOf } from "../lab/ironic/api.ts";
import type { IronicOptions } from "../lab/ironic/config.ts";
import { faultyProxy, ironicFault } from "../lab/ironic/faulty.ts";
import { telling } from "../lab/ironic/telling.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import type { Server } from "../lab/server.ts";
import { type Pair, pairAt, paired } from "../manage/fake-pair.ts";

/** Every kind of step that Ironic alone has, in its order. */
const FORTH = [
  ...["switchover-hold", "switchover-destination", "switchover-power", "switchover-maintenance"],
  ...["switchover-unlink", "switchover-volumes", "switchover-fields", "switchover-claim"],
  ...["switchover-deploy", "switchover-allocation", "switchover-clear", "switchover-release"],
] as const satisfies readonly SwitchStepName[];

/** What is in the journal, and what Ironic did of the step: nothing yet, or all. */
const DEATHS = ["start.after", "end.before"] as const;

const BACK = FORTH.slice(0, FORTH.indexOf("switchover-deploy"));
const HALVES = [0, 1].map((half) => BACK.filter((_, index) => index % 2 === half));

interface Scene {
  readonly ironic: Api;
  readonly folder: string;
}

test("a switchover killed at any kind of step goes on or is taken back on a real Ironic, as when a conductor dies", {
  concurrency: true,
}, async (t) => {
  const server = await needs("mysql");
  const folder = privateFolder(t);
  const ironic = await withIronic(t, "mysql");
  const at = { ironic, folder };
  await Promise.all([
    ...DEATHS.map((death, place) =>
      t.test(`B-14: the same command goes on after each ${death}`, () => goesOn(at, place, death)),
    ),
    ...HALVES.map((steps, place) =>
      t.test(
        `B-14, B-13: a rollback gives everything back after a death in ${steps.join(", ")}`,
        () => takenBack(at, DEATHS.length + place, steps),
      ),
    ),
    t.test("of answers that are lost, or are 500, each change is found out, and made once", (one) =>
      goesOnThrough(one, at, DEATHS.length + HALVES.length),
    ),
    t.test("the second conductor dies in the spare's deploy, and the same command ends it", (one) =>
      conductorDies(one, server, folder),
    ),
  ]);
});

const words = ({ ironic, folder }: Scene, run: string): readonly string[] => [
  ...["--run", join(folder, run), "--ironic-url", ironic.url],
];

const command = (at: Scene, { source, spare }: Pair, run: string): readonly string[] => [
  ...["node", "switchover", source, spare, ...words(at, run), "--proof-interval", "0"],
];

/** The command dies there. */
async function killed(asked: readonly string[], step: string, death: (typeof DEATHS)[number]) {
  const env = { NOVA2IRONIC_FAILPOINT: `${step}.${death}:1:kill` };
  const died = await start(asked, { env }).ended;
  assert.equal(died.status, 128, `${step} ${death}: ${died.err}`);
}

/** One run dies once in each step, and each command goes on from where the last one died. */
async function goesOn(at: Scene, place: number, death: (typeof DEATHS)[number]): Promise<void> {
  const pair = await paired(at.ironic, place, true);
  const asked = command(at, pair, `on-${place}`);
  for (const step of FORTH) await killed(asked, step, death);
  const { out } = await runs(0, asked);
  assert.match(out, /runs on/);
  await isSwitched(at, pair, place);
  await runs(0, ["verify", ...words(at, `on-${place}`)]);
}

/** Of every three changes one is made and its answer lost, one is refused with 500, one passes. */
async function goesOnThrough(t: TestContext, at: Scene, place: number): Promise<void> {
  const pair = await paired(at.ironic, place);
  const proxy = await faultyProxy(at.ironic.url, t);
  const faults = [{ do: "lost" }, ironicFault(500, "the database went away"), null] as const;
  let turn = 0;
  proxy.use(({ method }) => (method === "GET" ? null : (faults[turn++ % faults.length] ?? null)));
  const through = { ...at, ironic: { ...at.ironic, url: proxy.url } };
  await runs(0, command(through, pair, `through-${place}`));
  await isSwitched(at, pair, place);
  assert.ok(turn > 2 * FORTH.length, `${turn} changes were asked for`);
}

async function isSwitched({ ironic }: Scene, pair: Pair, place: number): Promise<void> {
  const api = apiOf(ironic);
  const get = async (path: string) => objectOf((await api("GET", `/v1/${path}`)).body);
  const has = async (node: string, fields: JsonObject): Promise<void> => {
    const told = await get(`nodes/${node}`);
    const names = Object.keys(fields);
    assert.deepEqual(Object.fromEntries(names.map((name) => [name, told[name]])), fields);
  };
  await has(pair.source, {
    ...{ provision_state: "available", maintenance: true, power_state: "power off" },
    ...{ instance_uuid: null, extra: {}, automated_clean: false },
  });
  await has(pair.spare, {
    ...{ provision_state: "active", power_state: "power on", instance_uuid: pair.instance },
    ...{ allocation_uuid: pair.instance, name: `n-${place}`, description: "a shop", extra: {} },
    ...{ automated_clean: null, maintenance: false },
  });
  for (const path of [`volume/targets/${pair.target}`, `volume/connectors/${pair.connector}`])
    assert.equal((await get(path)).node_uuid, pair.spare, path);
  assert.equal((await get(`allocations/${pair.instance}`)).name, `web-${place}`);
}

/** A run for each step dies once Ironic did it, and is rolled back: the next one finds everything as it was. */
async function takenBack(at: Scene, place: number, steps: readonly string[]): Promise<void> {
  const pair = await paired(at.ironic, place);
  // One that is on is switched off, and on again.
  await telling(at.ironic).power(pair.spare, "power on");
  const before = await dump(at, pair);
  for (const step of steps) {
    const run = `back-${step}`;
    await killed(command(at, pair, run), step, "end.before");
    await runs(0, ["rollback", ...words(at, run), "--all", "--yes"]);
    assert.equal(await dump(at, pair), before, step);
  }
}

/** Everything of both machines but clocks, and what a conductor notes for itself. */
async function dump({ ironic }: Scene, pair: Pair): Promise<string> {
  const own = [
    ...[`nodes/${pair.source}`, `nodes/${pair.spare}`, `allocations/${pair.instance}`],
    ...[`volume/targets/${pair.target}`, `volume/connectors/${pair.connector}`],
    ...[`volume/targets?node=${pair.spare}`, `volume/connectors?node=${pair.spare}`],
  ];
  const api = apiOf(ironic);
  const all = await Promise.all(own.map((path) => api("GET", `/v1/${path}`)));
  // A conductor looks at its machines meanwhile.
  const noted = /^((created|updated|provision_updated)_at|driver_internal_info|reservation)$/;
  return JSON.stringify(all, (key, value: unknown) => (noted.test(key) ? 0 : value), 1);
}

const [LIVING, DYING] = ["127.0.0.1", "127.0.0.2"] as const;

/** Two conductors of one service, of which one takes its time to deploy and is killed then. */
async function conductorDies(t: TestContext, server: Server, folder: string): Promise<void> {
  const port = await freePort();
  const options = (host: string): IronicOptions => ({
    more: {
      DEFAULT: { rpc_transport: "json-rpc", host, hash_ring_reset_interval: 1 },
      json_rpc: { auth_strategy: "noauth", host_ip: host, port },
      conductor: { heartbeat_interval: 1, check_provision_state_interval: 1 },
      fake: { deploy_delay: host === DYING ? 60 : 0 },
    },
  });
  const ironic = await withIronic(t, "mysql", options(LIVING));
  const beside = { ...options(DYING), asleep: true, database: ironic.database };
  const second = await withIronic(t, "mysql", beside);
  await second.wake();
  const at = { ironic, folder };
  const place = await placeWith(ironic);
  const pair = await paired(ironic, place);
  const asked = command(at, pair, "conductor");
  const running = start(asked);
  await telling(ironic).becomes(pair.spare, { provision_state: "deploying", reservation: DYING });
  await second.sleep();
  // As if its last report was older than the minute after which a conductor counts as dead.
  const db = connect({ ...server, database: ironic.database });
  const updated_at = db.raw("UTC_TIMESTAMP() - INTERVAL 120 SECOND");
  await db("conductors").where({ hostname: DYING }).update({ updated_at });
  await db.destroy();
  const stopped = await running.ended;
  assert.equal(stopped.status, 5, stopped.err);
  assert.match(stopped.err, /N2I-E390[\s\S]*deploy failed[\s\S]*keep the source/);
  assert.equal((await telling(ironic).becomes(pair.source, {})).power_state, "power off");
  await runs(0, asked);
  await isSwitched(at, pair, place);
}

/** Place of a pair of which the source is the living conductor's, and the spare the other's. */
async function placeWith(ironic: Api): Promise<number> {
  const api = apiOf(ironic);
  const conductorOf = async (uuid: string): Promise<unknown> => {
    await api("POST", "/v1/nodes", { uuid, driver: "fake-hardware" });
    const { conductor } = await telling(ironic).becomes(uuid, {});
    await api("DELETE", `/v1/nodes/${uuid}`);
    return conductor;
  };
  for (let place = 0; place < 100; place += 1) {
    const { source, spare } = pairAt(place);
    const both = [await conductorOf(source), await conductorOf(spare)];
    if (both.join() === [LIVING, DYING].join()) return place;
  }
  throw new Error("no pair of nodes has two conductors");
}
