import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runs } from "../hostile/cli.ts";
import type { IpmiSim } from "../lab/bmc/sims.ts";
import type { Neutron } from "../lab/cloud/neutron.ts";
import type { Cloud } from "../lab/cloud/start.ts";
import { apiOf } from "../lab/ironic/api.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import type { Who } from "../proxy/questions.ts";
import type { RealUsers } from "../proxy/real-users.ts";
import { uuidOf } from "./in-memory.ts";
import { asking, said, served } from "./served-scene.ts";

export interface RealScene {
  readonly cloud: Cloud;
  readonly ironic: IronicServer;
  readonly neutron: Neutron;
  readonly sim: IpmiSim;
  readonly env: { readonly [name: string]: string };
  /** Neutron's ports of the six machines. */
  readonly vifs: readonly string[];
  /** Glance's image that they run. */
  readonly image: string;
  readonly folder: string;
  readonly tokens: RealUsers["tokens"];
}

type Body = { readonly [field: string]: unknown };

/** Before a real Keystone, Ironic, Neutron and Glance: who may, what is answered, and two services at once. */
export async function servedForReal(t: TestContext, at: RealScene): Promise<void> {
  const { tokens } = at;
  const runsOf = ["served-a", "served-b"].map((name) => join(at.folder, name));
  const place = {
    ...{ keystone: at.cloud.env.OS_AUTH_URL ?? "", ironic: at.ironic.url, env: at.env },
  };
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
  const last = { node_uuid, name: "web-1", description: "a shop", metadata: { rack: "7" } };
  const networks = [{ port_type: "baremetal", port_id: at.vifs[5] }];
  const first = { node_uuid: uuidOf(1, 6), name: "web-6", flavor_uuid: uuidOf(7, 1), networks };

  for (const [who, status] of [
    ["member", 403],
    ["reader", 403],
    ["nobody", 401],
    ["forged", 401],
    ["revoked", 401],
  ] as const)
    for (const [line, body] of [
      ["GET /v1/adoptable_nodes", undefined],
      ["GET /v1/manageable_servers", undefined],
      ["POST /v1/manageable_servers", last],
      ["POST /v1/servers/manage", first],
      [`GET /v1/servers/${node_uuid}`, undefined],
    ] as const)
      assert.equal((await ask(who, line, body)).status, status, `${who} ${line}`);

  for (const name of ["adoptable_nodes", "manageable_servers"]) {
    const { status, body } = await ask("admin", `GET /v1/${name}`);
    assert.equal(status, 200);
    const listed = body[name] as readonly Body[]; // our own form
    assert.deepEqual(
      listed.map(({ uuid }) => uuid),
      [node_uuid, uuidOf(1, 6)],
      name,
    );
  }

  const api = apiOf(at.ironic);
  const made = [
    await ask("admin", "POST /v1/manageable_servers", last),
    await ask("admin", "POST /v1/servers/manage", first),
  ];
  for (const [index, answer] of made.entries()) {
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { body, fields } = answer;
    const node = (await api("GET", `/v1/nodes/${String(body.node_uuid)}`)).body as Body;
    assert.deepEqual([node.instance_uuid, node.provision_state], [body.uuid, "active"]);
    // One node has the image by its id, one by its name.
    assert.deepEqual([body.image_uuid, body.status], [at.image, "active"], `text ${index}`);
    const { pathname } = new URL(fields.get("location") ?? "");
    const shown = await ask("admin", `GET ${pathname}`);
    assert.deepEqual([shown.status, shown.body], [200, body]);
    assert.equal((await ask("member", `GET ${pathname}`)).status, 403);
  }
  const again = await ask("admin", "POST /v1/manageable_servers", { ...last, name: "web-2" });
  assert.equal(again.status, 403, said(again));
  for (const one of both) await one.end();
  const back = ["rollback", "--ironic-url", at.ironic.url, "--all", "--yes"];
  const [mine = "", theirs = ""] = runsOf;
  await runs(0, [...back, "--run", mine], { env: at.env });

  // Two services, which know nothing of each other, have one node to give.
  const [one, two] = [await served(mine, place, []), await served(theirs, place, [])];
  const post = (to: { readonly url: string } | undefined, index: number) =>
    ask("admin", "POST /v1/manageable_servers", { node_uuid, name: `race-${index}` }, to?.url);
  const race = await Promise.all(
    [one, two].map(async (to, index) => {
      const answer = await post(to, index);
      // A node that stays locked is to be asked for again, as 503 says.
      return answer.status === 503 ? post(to, index) : answer;
    }),
  );
  await Promise.all([one.end(), two.end()]);
  const statuses = race.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 201).length, 1, statuses.join());
  assert.ok(
    statuses.every((status) => [201, 403, 409].includes(status)),
    race.map((one) => (one.status === 201 ? "201" : said(one))).join("; "),
  );
  const { body } = await api("GET", "/v1/allocations");
  assert.equal((body as { readonly allocations: readonly unknown[] }).allocations.length, 1);
  for (const run of runsOf) await runs(0, [...back, "--run", run], { env: at.env });
}
