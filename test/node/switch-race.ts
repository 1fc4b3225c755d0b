import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import { SWITCH_MARK } from "../../src/model/switching.ts";
import { apiOf } from "../lab/ironic/api.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import { pairAt, paired } from "./fake-pair.ts";
import { asking, started } from "./switch-served.ts";

/** Of a race, beside each other: its sources are like each other, and like no other machine there. */
const CLASS = "racing";
const SOURCES = 10;

interface Racing {
  readonly ironic: IronicServer;
  /** Of that Ironic. */
  readonly db: Knex;
  readonly folder: string;
  /** Of the first source, and of the only spare; the other sources have those behind it. */
  readonly place: number;
}

/** Ten sources want the only spare at once, before a real Ironic. */
export async function raced(t: TestContext, at: Racing): Promise<void> {
  const { ironic, db, folder, place } = at;
  const { spare } = await paired(ironic, place);
  const sources = await alike(db, place);
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] });
  const said: string[] = [];
  const own = { state: join(folder, "race"), ironicUrl: ironic.url, keystoneUrl: keystone.url };
  const { url, end } = await started({}, said, { ...own, proofInterval: 0 });
  t.after(end);
  const all = await Promise.all(sources.map((one) => asking(url, one, {}, {})));
  const statuses = all.map(({ status }) => status);
  assert.equal(statuses.filter((one) => one === 202).length, 1, statuses.join());
  assert.ok(
    statuses.every((one) => [202, 400, 409].includes(one)),
    statuses.join(),
  );
  const winner = statuses.indexOf(202);
  // That one comes to its end is proved elsewhere.
  await end();
  const { body } = await apiOf(ironic)("GET", `/v1/nodes?resource_class=${CLASS}&fields=${FIELDS}`);
  const { nodes } = body as { readonly nodes: readonly { readonly [field: string]: unknown }[] };
  const marked = [spare, sources[winner]];
  for (const { uuid, extra, ...is } of nodes) {
    assert.equal(JSON.stringify(extra).includes(SWITCH_MARK), marked.includes(String(uuid)));
    if (marked.includes(String(uuid))) continue;
    const instance = pairAt(place + sources.indexOf(String(uuid))).instance;
    assert.deepEqual(
      [is.power_state, is.maintenance, is.instance_uuid],
      ["power on", false, instance],
    );
  }
  assert.equal(nodes.length, SOURCES + 1, said.join("\n"));
}

const FIELDS = "uuid,power_state,maintenance,extra,instance_uuid";

/** Sources like the first, as rows of their own: what Ironic would make of each takes it seconds. */
async function alike(db: Knex, place: number): Promise<readonly string[]> {
  const first = pairAt(place);
  const own = [first.source, first.spare];
  await db("nodes").whereIn("uuid", own).update({ resource_class: CLASS });
  await db("allocations").where({ uuid: first.instance }).update({ resource_class: CLASS });
  const rowOf = async (table: string, uuid: string) => {
    const { id, ...row } = (await db(table).where({ uuid }).first()) as {
      readonly [column: string]: unknown;
    };
    return { id, row };
  };
  const node = await rowOf("nodes", first.source);
  const allocation = await rowOf("allocations", first.instance);
  const connector = await rowOf("volume_connectors", first.connector);
  const target = await rowOf("volume_targets", first.target);
  const sources = [first.source];
  for (let at = place + 1; at < place + SOURCES; at += 1) {
    const { source, instance, connector: iqn, target: volume } = pairAt(at);
    const told = { uuid: source, name: `n-${at}`, instance_uuid: instance };
    const [node_id] = await db("nodes").insert({
      ...{ ...node.row, ...told, allocation_id: null, reservation: null },
    });
    const record = { ...allocation.row, uuid: instance, name: `web-${at}`, node_id };
    const [allocation_id] = await db("allocations").insert(record);
    await db("nodes").where({ uuid: source }).update({ allocation_id });
    const connector_id = `iqn.2026-01.org.example:n-${at}`;
    await db("volume_connectors").insert({ ...connector.row, uuid: iqn, node_id, connector_id });
    await db("volume_targets").insert({
      ...{ ...target.row, uuid: volume, node_id, volume_id: `v-${at}` },
    });
    sources.push(source);
  }
  return sources;
}
