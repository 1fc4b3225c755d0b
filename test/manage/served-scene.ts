import { join } from "node:path";
import type { TestContext } from "node:test";
import { serveManageable } from "../../src/manage/serve-manageable.ts";
import type { Served } from "../../src/serving/serving.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type StandInKeystone, standInKeystone } from "../proxy/stand-ins.ts";
import { addRunning, dumped, type InMemory, inMemory, uuidOf } from "./in-memory.ts";
import { type ServingHere, servingHere } from "./serving-here.ts";

interface Answer {
  readonly status: number;
  readonly fields: Headers;
  readonly body: { readonly [key: string]: unknown };
}

interface Scene {
  readonly cloud: InMemory;
  readonly keystone: StandInKeystone;
  readonly run: string;
  readonly events: readonly { readonly event: string }[];
  readonly url: string;
  readonly heard: readonly Served[];
  /** @param type of the body; null: none is given */
  readonly ask: (
    line: string,
    body?: unknown,
    token?: string | null,
    type?: string | null,
  ) => Promise<Answer>;
  readonly before: string;
}

/** The service in this process, whose run is free again once it ended. */
export async function servedScene(
  t: TestContext,
  nodes = 2,
  { most = 82, login = false, env = {} } = {},
): Promise<Scene & { readonly end: () => Promise<void> }> {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await inMemory(t, most);
  for (let at = 1; at <= nodes; at += 1)
    addRunning(cloud, at, { instance_info: { image_source: "an-image", configdrive: "c2VjcmV0" } });
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] }).set("member", { roles: ["member"] });
  const run = join(privateFolder(t), "run");
  const events: { readonly event: string }[] = [];
  const heard: Served[] = [];
  const { url, end } = await served(
    run,
    {
      ...{ keystone: keystone.url, ironic: cloud.ironic },
      env: { ...cloud.how.env, ...(login ? cloud.login : {}), ...env },
    },
    events,
    heard,
  );
  t.after(end);
  return {
    ...{ cloud, keystone, run, events, end, url, heard, before: dumped(cloud) },
    ask: (line, body, token = "admin", type) => asking(url, line, body, token, type),
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
  events: { readonly event: string }[],
  heard: Served[] = [],
): Promise<ServingHere> {
  const common = {
    fromCatalog: false,
    interface: "public",
    tokenCache: 60,
    apiTimeout: 60,
  } as const;
  const asked = { listen: "127.0.0.1:0", maxConnections: 64, auth: "keystone", run } as const;
  return servingHere(env, (until) =>
    serveManageable(
      { ...common, ...asked, keystoneUrl: keystone, ironicUrl: ironic },
      {
        ...{ say: () => undefined, served: (one) => heard.push(one), until },
        notify: (event) => void events.push(event),
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
  return {
    status: answer.status,
    fields: answer.headers,
    body: JSON.parse(text) as Answer["body"],
  };
}

export const said = ({ body }: Answer): string =>
  (JSON.parse(String(body.error_message)) as { readonly faultstring: string }).faultstring;
export const NODE = uuidOf(1, 1);
export function bodyOf(at: number, name = `web-${at}`) {
  const networks = [{ port_type: "baremetal", port_id: uuidOf(3, at) }];
  return { name, node_uuid: uuidOf(1, at), flavor_uuid: uuidOf(7, 1), networks };
}
export const BODY = bodyOf(1);
