import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Served } from "../../src/serving/serving.ts";
import { type ServeSwitchOptions, serveSwitchover } from "../../src/switchover/serve-switchover.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { type ServingHere, servingHere } from "../manage/serving-here.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import {
  addPair,
  SOURCE,
  SPARE,
  type Switchable,
  switchable,
  switchedDump,
} from "./switch-memory.ts";
import { hurried } from "./switch-scene.ts";

type ShowableArtifact = { readonly [field: string]: string | null };

export interface Queried {
  readonly token?: string | null;
  readonly version?: string | null;
  readonly type?: string;
  readonly method?: string;
}

/** The service in this process, before an Ironic and a Keystone in memory. */
export async function servedSwitchover(
  t: TestContext,
  more: Partial<ServeSwitchOptions> = {},
  tries = Number.POSITIVE_INFINITY,
) {
  hurried(t);
  const cloud = await switchable(t);
  addPair(cloud);
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] }).set("member", { roles: ["member"] });
  const state = join(privateFolder(t), "state");
  const said: string[] = [];
  const env = { ...cloud.how.env, ...cloud.login };
  const heard: Served[] = [];
  const own = { apiTimeout: 5, state, proofInterval: 0, softTimeout: 600, ...more };
  const urls = { keystoneUrl: keystone.url, ironicUrl: cloud.ironic };
  const open = () => started(env, said, { ...urls, ...own }, heard, tries);
  let at = await open();
  t.after(() => at.end());
  const ask = (node: string, body: unknown, how: Queried) => asking(at.url, node, body, how);
  const get = (node: string, how: Queried = {}) => ask(node, undefined, { method: "GET", ...how });
  return {
    ...{ cloud, keystone, state, said, heard, get, before: switchedDump(cloud) },
    url: () => at.url,
    put: (node: string, body?: unknown, how: Queried = {}) => ask(node, body, how),
    async until(node: string, ...states: readonly string[]) {
      for (;;) {
        const { text } = await get(node);
        const { switchover = {} } = JSON.parse(text) as { readonly switchover?: ShowableArtifact };
        if (states.includes(String(switchover.state))) return switchover;
      }
    },
    end: () => at.end(),
    async again() {
      await at.end();
      at = await open();
    },
  };
}

/** The service in this process, until `end`. */
export function started(
  env: { readonly [name: string]: string },
  said: string[],
  own: Partial<ServeSwitchOptions> & Pick<ServeSwitchOptions, "state" | "ironicUrl">,
  heard: Served[] = [],
  tries = Number.POSITIVE_INFINITY,
): Promise<ServingHere> {
  const asked: ServeSwitchOptions = {
    ...{ listen: "127.0.0.1:0", maxConnections: 64, auth: "keystone", fromCatalog: false },
    ...{ interface: "public", tokenCache: 60, apiTimeout: 60, leaveNova: false },
    ...own,
  };
  return servingHere(env, (until) =>
    serveSwitchover(asked, {
      ...{ say: (text) => void said.push(text), served: (one) => heard.push(one) },
      ...{ pause: 1, tries, until },
    }),
  );
}

/** @param node of the switchover, or a path */
export async function asking(
  url: string,
  node: string,
  body: unknown,
  { token = "admin", version = "1.82", type = "application/json", method = "PUT" }: Queried,
) {
  const path = node.startsWith("/") ? node : `/v1/nodes/${node}/switchover`;
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token !== null && { "X-Auth-Token": token }),
      ...(version !== null && { "X-OpenStack-Ironic-API-Version": version }),
      ...(body !== undefined && { "Content-Type": type }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, fields: answer.headers, text: await answer.text() };
}

type SwitchAnswer = Awaited<ReturnType<typeof asking>>;

/** The sentence of an error, as Ironic wraps it. */
export function sentence({ text }: SwitchAnswer): string {
  const { error_message } = JSON.parse(text) as { readonly error_message: string };
  const told = JSON.parse(error_message) as { readonly [field: string]: string };
  return told.faultstring ?? told.description ?? "";
}

/** Another machine like the source, with a volume and an instance of its own. */
export function addSource(cloud: Switchable, at: number): string {
  const uuid = uuidOf(1, 20 + at);
  const like = structuredClone(cloud.nodes.get(SOURCE) ?? {});
  const instance = uuidOf(9, 20 + at);
  cloud.nodes.set(uuid, {
    ...{ ...like, uuid, name: `m-${at}`, instance_uuid: instance, allocation_uuid: instance },
  });
  cloud.allocations.set(instance, {
    ...{ ...structuredClone(cloud.allocations.get(uuidOf(9, 1)) ?? {}), uuid: instance },
    ...{ name: `web-${at}`, node_uuid: uuid },
  });
  cloud.machines.set(uuid, { on: true, dead: false, soft: true, obeys: true });
  cloud.attached.set(uuid, []);
  cloud.targets.set(uuidOf(5, 20 + at), {
    ...structuredClone(cloud.targets.get(uuidOf(5, 1)) ?? {}),
    ...{ uuid: uuidOf(5, 20 + at), node_uuid: uuid, volume_id: `v-m-${at}` },
  });
  cloud.connectors.set(uuidOf(6, 20 + at), {
    ...structuredClone(cloud.connectors.get(uuidOf(6, 1)) ?? {}),
    ...{ uuid: uuidOf(6, 20 + at), node_uuid: uuid, connector_id: `iqn.2026:m-${at}` },
  });
  cloud.ports.set(uuidOf(2, 20 + at), {
    ...structuredClone(cloud.ports.get(uuidOf(2, 0)) ?? {}),
    ...{ uuid: uuidOf(2, 20 + at), node_uuid: uuid, address: `52:54:00:00:01:${20 + at}` },
  });
  return uuid;
}

export function addSpare(cloud: Switchable, at: number): string {
  const uuid = uuidOf(1, 60 + at);
  cloud.nodes.set(uuid, {
    ...{ ...structuredClone(cloud.nodes.get(SPARE) ?? {}), uuid, name: `t-${at}` },
  });
  cloud.machines.set(uuid, { on: false, dead: false, soft: true, obeys: true });
  cloud.attached.set(uuid, []);
  cloud.ports.set(uuidOf(2, 60 + at), {
    ...structuredClone(cloud.ports.get(uuidOf(2, 1)) ?? {}),
    ...{ uuid: uuidOf(2, 60 + at), node_uuid: uuid, address: `52:54:00:00:02:${10 + at}` },
  });
  return uuid;
}

/** A source, its spare and one more, and the words of a command with a run of its own. */
export async function commandScene(t: TestContext) {
  hurried(t);
  const cloud = await switchable(t);
  addPair(cloud);
  const next = addSpare(cloud, 1);
  const path = join(privateFolder(t), "o1");
  const own = ["--run", path, ...cloud.words, "--proof-interval", "0"];
  return { cloud, how: cloud.how, next, path, own, before: switchedDump(cloud) };
}
