import { join } from "node:path";
import type { TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Served } from "../../src/serving/listener.ts";
import { type ServeSwitchOptions, serveSwitchover } from "../../src/switchover/serve-switchover.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type ServingHere, servingHere } from "../manage/serving-here.ts";
import { standInKeystone } from "../proxy/stand-ins.ts";
import { hurried } from "./scene.ts";
import { addPair, addSpare, switchable, switchedDump } from "./switch-memory.ts";

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
        // The service works in this process: each look takes time from it.
        for (let turns = 0; turns < 50; turns += 1) await turn();
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
      ...{ report: (text) => void said.push(text), served: (one) => heard.push(one) },
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

/** An error, as Ironic wraps it: JSON in JSON. */
export function errorOf({ text }: SwitchAnswer) {
  const { error_message } = JSON.parse(text) as { readonly error_message: string };
  return JSON.parse(error_message) as { readonly [field: string]: string };
}

/** Its sentence. */
export function sentence(answer: SwitchAnswer): string {
  const told = errorOf(answer);
  return told.faultstring ?? told.description ?? "";
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
