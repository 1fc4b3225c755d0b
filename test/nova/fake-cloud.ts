import { createServer, type IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../support/listening.ts";

/** What a service says to a call. */
export interface Said {
  readonly status: number;
  readonly body?: unknown;
  /** The call is done, but the line is cut before anything is said. */
  readonly cut?: true;
}

export interface FakeFlavor {
  readonly id: string;
  readonly name: string;
  readonly extra_specs: Map<string, string>;
}

export interface FakeImage {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly disk_format: string | null;
}

/** Keystone, Nova's flavors and Glance's images on one port; a real server, kept in memory. */
export interface FakeCloud {
  /** What a command needs to find it. */
  readonly env: { readonly [name: string]: string };
  readonly flavors: Map<string, FakeFlavor>;
  readonly images: FakeImage[];
  /** Calls but those of Keystone: `PUT /compute/v2.1/flavors/11/os-extra_specs/x`. */
  readonly calls: string[];
  /** Asked before a call is done; what it gives is said instead, and the call is done only when it says so. */
  interfere: ((call: string, done: () => void) => Said | null) | null;
}

export const PASSWORD = "keystone-password-7f31";
export const TOKEN = "gAAAAA-token-of-the-test";
/** Flavors and images on one page: few, so that there are several. */
const PAGE = 2;

export async function fakeCloud(t: TestContext): Promise<FakeCloud> {
  const cloud: FakeCloud = {
    ...{ env: {}, flavors: new Map<string, FakeFlavor>(), images: [], calls: [] },
    interfere: null,
  };
  const server = createServer((asked, answer) => {
    void bodyOf(asked).then((body) => {
      const { origin } = new URL(`http://${asked.headers.host}`);
      const say = ({ status, body: told }: Said): void => {
        answer.writeHead(status, { "X-Subject-Token": TOKEN });
        answer.end(told === undefined ? "" : JSON.stringify(told));
      };
      if (asked.url === "/v3/auth/tokens") return say(token(origin, body));
      if (asked.headers["x-auth-token"] !== TOKEN) return say({ status: 401 });
      const call = `${asked.method} ${asked.url}`;
      cloud.calls.push(call);
      const microversion = asked.headers["x-openstack-nova-api-version"];
      if (call.includes("/compute/") && microversion !== "2.1") return say({ status: 406 });
      const work = (): Said => work_(cloud, asked, body);
      const said = cloud.interfere?.(call, () => void work()) ?? work();
      if (said.cut) answer.destroy();
      else say(said);
    });
  });
  const env = {
    ...{ OS_AUTH_URL: `${await listening(t, server)}/v3`, OS_USERNAME: "admin" },
    ...{ OS_PASSWORD: PASSWORD, OS_PROJECT_NAME: "admin" },
  };
  return Object.assign(cloud, { env });
}

async function bodyOf(asked: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of asked) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}

function token(origin: string, body: string): Said {
  if (!body.includes(PASSWORD)) return { status: 401, body: { error: { message: "no" } } };
  const service = (type: string, url: string) => ({
    type,
    endpoints: [{ interface: "public", region: "one", url: `${origin}${url}` }],
  });
  const catalog = [service("compute", "/compute/v2.1"), service("image", "/image/v2/")];
  return { status: 201, body: { token: { catalog } } };
}

function work_(cloud: FakeCloud, asked: IncomingMessage, body: string): Said {
  const url = new URL(asked.url ?? "", "http://cloud");
  const after = url.searchParams.get("marker");
  if (url.pathname === "/image/v2/images") {
    const named = cloud.images.filter(({ name }) => name === url.searchParams.get("name"));
    const { page, more } = paged(named, after);
    return { status: 200, body: { images: page, ...(more && { next: "/v2/images?more" }) } };
  }
  if (url.pathname.startsWith("/image/v2/images/")) {
    const one = cloud.images.find(({ id }) => url.pathname.endsWith(`/${encodeURIComponent(id)}`));
    return one === undefined ? { status: 404 } : { status: 200, body: one };
  }
  const [, flavorid, key] =
    /^\/compute\/v2\.1\/flavors\/([^/]+)\/os-extra_specs(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
  if (flavorid === undefined)
    return { status: 200, body: { flavors: paged([...cloud.flavors.values()], after).page } };
  const specs = cloud.flavors.get(decodeURIComponent(flavorid))?.extra_specs;
  const name = key === undefined ? null : decodeURIComponent(key);
  if (specs === undefined) return { status: 404 };
  if (asked.method === "GET")
    return { status: 200, body: { extra_specs: Object.fromEntries(specs) } };
  if (asked.method === "DELETE" && name !== null)
    return specs.delete(name) ? { status: 200 } : { status: 404 };
  // The form of the call is looked at: Nova refuses another.
  const told = JSON.parse(body) as { readonly extra_specs?: object };
  const given = Object.entries(name === null ? (told.extra_specs ?? {}) : told);
  if (given.length !== 1 || (name !== null && given[0]?.[0] !== name)) return { status: 400 };
  for (const [one, value] of given) specs.set(one, String(value));
  return { status: 200, body: told };
}

function paged<T extends { readonly id: string }>(
  all: readonly T[],
  after: string | null,
): { readonly page: readonly T[]; readonly more: boolean } {
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  return { page: all.slice(from, from + PAGE), more: all.length > from + PAGE };
}
