import type { TestContext } from "node:test";
import { type ProxyOptions, serveProxy } from "../../src/proxy/serve-proxy.ts";
import type { Served } from "../../src/serving/listener.ts";
import { servingHere } from "../manage/serving-here.ts";
import { type StandInIronic, standInIronic, standInKeystone } from "./stand-ins.ts";

interface Asking {
  readonly fields?: { readonly [name: string]: string };
  readonly body?: string;
}

/** What is asked where a test says nothing else. */
export const USUAL: ProxyOptions = {
  ...{ listen: "127.0.0.1:0", fromCatalog: false, interface: "public", novaCompat: false },
  ...{ tokenCache: 60, apiTimeout: 5, maxConnections: 512, auth: "keystone" },
};

/** Options that differ; undefined: it is not given. */
type Otherwise = { readonly [name in keyof ProxyOptions]?: ProxyOptions[name] | undefined };

/** @param more options, with what they are made of where the stand-ins are known */
export async function proxyScene(
  t: TestContext,
  nodes: number,
  more: (at: { readonly ironic: StandInIronic }) => Otherwise | Promise<Otherwise> = () => ({}),
) {
  const keystone = await standInKeystone(t);
  keystone.tokens.set("admin", { roles: ["admin"] }).set("member", { roles: ["member"] });
  const ironic = await standInIronic(t, nodes);
  const said: string[] = [];
  const served: Served[] = [];
  const asked = { ...USUAL, keystoneUrl: `${keystone.url}/v3`, ironicUrl: ironic.url };
  // What is undefined is as if not given.
  const options = { ...asked, ...(await more({ ironic })) } as ProxyOptions;
  const output = {
    report: (text: string) => said.push(text),
    served: (one: Served) => served.push(one),
  };
  const proxy = await servingHere({}, (until) => serveProxy(options, { ...output, until }));
  t.after(proxy.end);
  ironic.calls.length = 0;
  return {
    ...{ keystone, ironic, said, served, proxy },
    /** Asks it with a token of `tokens`; null for none. */
    async ask(line: string, token: string | null = "admin", { fields = {}, body }: Asking = {}) {
      const [method = "GET", path = ""] = line.split(" ");
      const headers = { ...(token !== null && { "X-Auth-Token": token }), ...fields };
      const asked = { method, headers, ...(body !== undefined && { body }) };
      const answer = await fetch(`${proxy.url}${path}`, asked);
      const text = await answer.text();
      const told: unknown = text === "" ? "" : JSON.parse(text);
      return { status: answer.status, fields: answer.headers, body: told };
    },
    /** Calls to Ironic since the last time this was asked, by their paths. */
    calls: () => ironic.calls.splice(0).map(({ path }) => path),
  };
}
