import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { until } from "../../grenade/lib/wait.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { runs } from "../hostile/cli.ts";
import type { IpmiSim } from "../lab/bmc/sims.ts";
import type { Neutron } from "../lab/cloud/neutron.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import type { Who } from "../proxy/questions.ts";
import type { RealUsers } from "../proxy/real-users.ts";
import { uuidOf } from "./in-memory.ts";
import { type Answer, asking, LIST, type Place, POST, said, served } from "./served-scene.ts";

export interface RealScene {
  readonly cloud: Cloud;
  readonly ironic: IronicServer;
  readonly neutron: Neutron;
  readonly sim: IpmiSim;
  readonly env: { readonly [name: string]: string };
  readonly vifs: readonly string[];
  readonly image: string;
  readonly folder: string;
  readonly tokens: RealUsers["tokens"];
}

type Body = { readonly [field: string]: unknown };

/** Before a real Keystone, Ironic, Neutron and Glance: who may, what is answered, and two services at once. */
export async function servedForReal(t: TestContext, at: RealScene): Promise<void> {
  const { tokens } = at;
  const runsOf = ["served-a", "served-b"].map((name) => join(at.folder, name));
  const keystone = at.cloud.env.OS_AUTH_URL ?? "";
  const place = { keystone, ironic: at.ironic.url, env: at.env };
  const both = [];
  for (const run of runsOf) {
    const one = await served(run, place, []);
    t.after(one.end);
    both.push(one);
  }
  const [{ url = "" } = {}] = both;
  const ask = (who: Who, line: string, body?: unknown, to = url) =>
    asking(to, line, body, tokens[who]);
  const node_uuid = uuidOf(1, 1);
  const asked = (nth: number) => ({
    ...{ node_uuid: uuidOf(1, nth), name: `web-${nth}`, flavor_uuid: uuidOf(7, 1) },
    networks: [{ port_type: "baremetal", port_id: at.vifs[nth - 1] }],
  });
  const [last, first] = [{ ...asked(1), description: "a shop" }, asked(6)];

  for (const [who, status] of [
    ["member", 403],
    ["reader", 403],
    ["nobody", 401],
    ["forged", 401],
    ["revoked", 401],
  ] as const)
    for (const [line, body] of [
      [LIST, undefined],
      [POST, first],
      [`GET /v1/servers/${node_uuid}`, undefined],
    ] as const)
      assert.equal((await ask(who, line, body)).status, status, `${who} ${line}`);

  const { status: found, body: list } = await ask("admin", LIST);
  assert.equal(found, 200);
  const listed = list.adoptable_nodes as readonly Body[]; // our own form
  assert.deepEqual(
    listed.map(({ uuid }) => uuid),
    [node_uuid, uuidOf(1, 6)],
  );

  const strange = (port: string) => ({ ...first, networks: [{ port_id: port }] });
  for (const [body, status, why] of [
    [{ ...first, networks: [] }, 400, /networks/],
    [{ ...last, node_uuid: "n-1" }, 400, /node_uuid/],
    [asked(5), 403, /in maintenance: a fan/],
    [{ ...last, node_uuid: uuidOf(1, 99) }, 404, /^Node \S+99 could not/],
    [strange(uuidOf(3, 99)), 404, /^Port \S+99 could not be found/],
    [strange(at.vifs[1] ?? ""), 409, /^Port \S+ has MAC \S+, and node/],
  ] as const)
    assertRefused(await ask("admin", POST, body), status, why);
  await behindOthers(t, at, place, last);
  await withLock(at, async () =>
    assertRefused(await ask("admin", POST, last), 409, /is locked by host somewhere-else/),
  );

  const api = apiOf(at.ironic);
  const own = await ask("admin", POST, last);
  // Ironic's own word, once the second machine was marked and its port bound.
  const named = await ask("admin", POST, { ...first, name: last.name });
  assertRefused(named, 409, /name web-1 already exists/);
  const made = [own, await ask("admin", POST, first)];
  for (const [index, answer] of made.entries()) {
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { body, fields } = answer;
    const node = (await api("GET", `/v1/nodes/${String(body.node_uuid)}`)).body as Body;
    assert.deepEqual([node.instance_uuid, node.provision_state], [body.uuid, "active"]);
    // One node has the image by its id, one by its name.
    assert.deepEqual([body.image_uuid, body.status], [at.image, "active"], `machine ${index}`);
    const path = fields.get("location") ?? "";
    const shown = await ask("admin", `GET ${path}`);
    assert.deepEqual([shown.status, shown.body], [200, body]);
    assert.equal((await ask("member", `GET ${path}`)).status, 403);
  }
  const again = await ask("admin", POST, { ...last, name: "web-2" });
  assert.equal(again.status, 403, said(again));
  for (const one of both) await one.end();
  await runs(0, [...back(at), "--run", runsOf[0] ?? ""], { env: at.env });
  await race(at, place, runsOf, last);
}

function assertRefused(refused: Answer, status: number, why: RegExp): void {
  assert.equal(refused.status, status, said(refused));
  assert.match(said(refused), why);
}

const back = ({ ironic }: RealScene) => ["rollback", "--ironic-url", ironic.url, "--all", "--yes"];

/** Two services, which know nothing of each other, have one node to give. */
async function race(at: RealScene, place: Place, runsOf: readonly string[], asked: Body) {
  const both = [];
  for (const run of runsOf) both.push(await served(run, place, []));
  const answers = await Promise.all(
    both.map(({ url }, index) => {
      const body = { ...asked, name: `race-${index}` };
      return asking(url, POST, body, at.tokens.admin);
    }),
  );
  await Promise.all(both.map(({ end }) => end()));
  const told = answers.map((one) => `${one.status} ${one.status === 201 ? "" : said(one)}`);
  const [first, other] = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  assert.equal(first, 201, told.join("; "));
  assert.ok(other === 403 || other === 409, told.join("; "));
  const { body } = await apiOf(at.ironic)("GET", "/v1/allocations");
  assert.equal((body as { readonly allocations: readonly unknown[] }).allocations.length, 1);
  for (const run of runsOf) await runs(0, [...back(at), "--run", run], { env: at.env });
}

/** The first machine, kept by a conductor that comes to no end. */
async function withLock({ ironic }: RealScene, during: () => Promise<void>): Promise<void> {
  const db = connect({ ...(await needs("mysql")), database: ironic.database });
  const locked = (reservation: string | null) =>
    until(`its lock is ${reservation}`, async () => {
      // A conductor that looks at it has it for a moment.
      const own = db("nodes").where({ uuid: uuidOf(1, 1) });
      const free = reservation === null ? own : own.whereNull("reservation");
      return (await free.update({ reservation })) === 1 ? null : "somebody has it";
    });
  try {
    await locked("somewhere-else");
    pauseShorter(0);
    await during();
    await locked(null);
  } finally {
    pauseShorter(1);
    await db.destroy();
  }
}

/** The real Ironic as a release of it that has no such allocations, and one that does not answer. */
async function behindOthers(t: TestContext, at: RealScene, place: Place, last: Body) {
  const proxy = await faultyProxy(at.ironic.url, t);
  const fields = { "x-openstack-ironic-api-maximum-version": "1.57" };
  const old = { do: "says", fields } as const;
  for (const [fault, began, status, why] of [
    [{ do: "refuse" }, null, 503, /^Ironic does not answer/],
    [old, old, 501, /cannot create an allocation/],
  ] as const) {
    proxy.use(() => began);
    const own = { ...place, ironic: proxy.url };
    const { url, end } = await served(join(at.folder, `served-${status}`), own, []);
    t.after(end);
    proxy.use(() => fault);
    assertRefused(await asking(url, POST, last, at.tokens.admin), status, why);
    await end();
  }
}
