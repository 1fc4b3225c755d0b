import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { serveManageable } from "../../src/manage/serve-manageable.ts";
import type { Served } from "../../src/serving/listener.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import { addRunning, dumped, inMemory, uuidOf } from "./in-memory.ts";
import { type ServingHere, servingHere } from "./serving-here.ts";

export const POST = "POST /v1/servers/manage";
export const LIST = "GET /v1/adoptable_nodes";

type Token = string | null;

interface ListedNode {
  readonly uuid: string;
  readonly ports: readonly { readonly vif_port_id: string | null }[];
}

export interface Answer {
  readonly status: number;
  readonly fields: Headers;
  readonly body: { readonly [key: string]: unknown };
}

/** The service in this process, whose run is free again once it ended. */
export async function servedScene(
  t: TestContext,
  nodes = 2,
  { most = 82, login = false, env = {} } = {},
) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await inMemory(t, most);
  for (let at = 1; at <= nodes; at += 1)
    addRunning(cloud, at, { instance_info: { image_source: "an-image", configdrive: "c2VjcmV0" } });
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] }).set("member", { roles: ["member"] });
  const run = join(privateFolder(t), "run");
  const events: string[] = [];
  const heard: Served[] = [];
  const all = { ...cloud.how.env, ...(login ? cloud.login : {}), ...env };
  const place = { keystone: keystone.url, ironic: cloud.ironic, env: all };
  const { url, end } = await served(run, place, events, heard);
  t.after(end);
  const ask = (line: string, body?: unknown, token: Token = "admin", type?: Token) =>
    asking(url, line, body, token, type);
  const before = dumped(cloud);
  return {
    ...{ cloud, keystone, run, events, end, url, heard, before, ask },
    node: (at = 1) => cloud.nodes.get(uuidOf(1, at)) ?? assert.fail(),
    port: cloud.network.get(uuidOf(3, 1)) ?? assert.fail(),
    list: async () => (await ask(LIST)).body.adoptable_nodes as readonly ListedNode[],
    /** Expects a machine to be managed. */
    async manages(body: unknown) {
      const made = await ask(POST, body);
      assert.equal(made.status, 201, JSON.stringify(made.body));
      return made;
    },
    async refuses(body: unknown, status: number, why: RegExp) {
      const refused = await ask(POST, body);
      assert.equal(refused.status, status, `${JSON.stringify(body)}: ${said(refused)}`);
      assert.match(said(refused), why);
    },
    /** Ends the service and rolls its run back: everything is as before. */
    async undone() {
      await end();
      await runs(0, ["rollback", "--run", run, ...cloud.words, "--all", "--yes"], cloud.how);
      assert.equal(dumped(cloud), before);
    },
  };
}

export interface Place {
  readonly keystone: string;
  readonly ironic: string;
  readonly env: { readonly [name: string]: string };
}

export function served(
  run: string,
  { keystone, ironic, env }: Place,
  events: string[],
  heard: Served[] = [],
): Promise<ServingHere> {
  const asked = {
    ...({ fromCatalog: false, interface: "public", tokenCache: 60, apiTimeout: 60 } as const),
    ...({ listen: "127.0.0.1:0", maxConnections: 64, auth: "keystone", run } as const),
  };
  return servingHere(env, (until) =>
    serveManageable(
      { ...asked, keystoneUrl: keystone, ironicUrl: ironic },
      {
        ...{ report: () => undefined, served: (one) => heard.push(one), until },
        notify: ({ event }) => void events.push(event),
      },
    ),
  );
}

/** @param line of a request: `GET /v1/adoptable_nodes` */
export async function asking(
  url: string,
  line: string,
  body: unknown,
  token: string | null,
  type: string | null = "application/json",
): Promise<Answer> {
  const [method = "GET", path = ""] = line.split(" ");
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token !== null && { "X-Auth-Token": token }),
      ...(body !== undefined && type !== null && { "Content-Type": type }),
    },
    // As bytes, it has no type of its own.
    ...(body !== undefined && { body: Buffer.from(JSON.stringify(body)) }),
  });
  const text = await answer.text();
  const { status, headers: fields } = answer;
  return { status, fields, body: JSON.parse(text) as Answer["body"] };
}

export const said = ({ body }: Answer): string =>
  (JSON.parse(String(body.error_message)) as { readonly faultstring: string }).faultstring;
export const NODE = uuidOf(1, 1);
export function bodyOf(at: number, name = `web-${at}`) {
  const networks = [{ port_type: "baremetal", port_id: uuidOf(3, at) }];
  return { name, node_uuid: uuidOf(1, at), flavor_uuid: uuidOf(7, 1), networks };
}
export const BODY = bodyOf(1);
