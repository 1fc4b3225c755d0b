import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import type { Pair } from "../../support/certificates.ts";
import { listening } from "../../support/listening.ts";

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

interface FakeImage {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly disk_format: string | null;
}

export const PASSWORD = "keystone-password-7f31";
export const TOKEN = "gAAAAA-token-of-the-test";
/** Images on one page: few, so that there are several. */
const PAGE = 2;

/**
 * Keystone and Glance's images on one port; a real server, kept in memory.
 * @param baremetal URL of an Ironic, which the catalog has for callers inside, in the region `lab`; each token differs
 * @source Keystone's API reference, v3: POST /v3/auth/tokens
 */
export async function fakeCloud(t: TestContext, baremetal = "", pair: Pair | null = null) {
  const cloud = {
    ...{ images: [] as FakeImage[], calls: [] as string[], url: "" },
    /** What was asked for tokens, how many were given, and how many next questions bring a 503. */
    ...{ logins: [] as string[], tokens: 0, faltering: 0 },
    /** Glance's answer to each call; null: what it has. */
    answer: null as Answer | null,
  };
  const token = (body: string): Answer => {
    cloud.logins.push(body);
    if (cloud.faltering > 0) {
      cloud.faltering -= 1;
      return { status: 503 };
    }
    if (!body.includes(`"${PASSWORD}"`))
      return { status: 401, body: { error: { message: `no such login: ${body}` } } };
    cloud.tokens += 1;
    const images = [{ interface: "public", region: "one", url: `${cloud.url}/image/v2/` }];
    const nodes = [
      { interface: "internal", region: "other", url: "http://127.0.0.1:9" },
      { interface: "internal", region: "lab", url: `${baremetal}/v1` },
    ];
    const all = { image: images, baremetal: nodes };
    const catalog = Object.entries(all).map(([type, endpoints]) => ({ type, endpoints }));
    return { status: 201, body: { token: { catalog } } };
  };
  const answers = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const body = await text(asked);
    const say = ({ status, body: told }: Answer): void => {
      const given = baremetal === "" ? TOKEN : `${TOKEN}-${cloud.tokens}`;
      answer.writeHead(status, { "X-Subject-Token": given });
      answer.end(told === undefined ? "" : JSON.stringify(told));
    };
    if (asked.url === "/v3/auth/tokens") return say(token(body));
    if (!String(asked.headers["x-auth-token"]).startsWith(TOKEN)) return say({ status: 401 });
    cloud.calls.push(`${asked.method} ${asked.url}`);
    say(cloud.answer ?? imagesAt(cloud.images, asked.url ?? ""));
  };
  const server = pair === null ? createServer(answers) : createTls(pair, answers);
  cloud.url = await listening(t, server);
  const env: { readonly [name: string]: string } = {
    ...{ OS_AUTH_URL: `${cloud.url}/v3`, OS_USERNAME: "admin" },
    ...{ OS_PASSWORD: PASSWORD, OS_PROJECT_NAME: "admin" },
  };
  return Object.assign(cloud, { env });
}

function imagesAt(images: readonly FakeImage[], path: string): Answer {
  const { pathname, searchParams } = new URL(path, "http://cloud");
  if (pathname !== "/image/v2/images") {
    const one = images.find(({ id }) => pathname.endsWith(`/${encodeURIComponent(id)}`));
    return one === undefined ? { status: 404 } : { status: 200, body: one };
  }
  const named = images.filter(({ name }) => name === searchParams.get("name"));
  const after = searchParams.get("marker");
  const from = after === null ? 0 : named.findIndex(({ id }) => id === after) + 1;
  const next = named.length > from + PAGE && { next: "/v2/images?more" };
  return { status: 200, body: { images: named.slice(from, from + PAGE), ...next } };
}
