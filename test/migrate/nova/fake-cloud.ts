import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
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

/** Keystone and Glance's images on one port; a real server, kept in memory. */
interface FakeCloud {
  readonly env: { readonly [name: string]: string };
  readonly images: FakeImage[];
  readonly calls: string[];
  /** Glance's answer to each call; null: what it has. */
  answer: Answer | null;
}

export const PASSWORD = "keystone-password-7f31";
export const TOKEN = "gAAAAA-token-of-the-test";
/** Images on one page: few, so that there are several. */
const PAGE = 2;

export async function fakeCloud(t: TestContext): Promise<FakeCloud> {
  const cloud: FakeCloud = { env: {}, images: [], calls: [], answer: null };
  const server = createServer(async (asked, answer) => {
    const body = await text(asked);
    const { origin } = new URL(`http://${asked.headers.host}`);
    const say = ({ status, body: told }: Answer): void => {
      answer.writeHead(status, { "X-Subject-Token": TOKEN });
      answer.end(told === undefined ? "" : JSON.stringify(told));
    };
    if (asked.url === "/v3/auth/tokens") return say(token(origin, body));
    if (asked.headers["x-auth-token"] !== TOKEN) return say({ status: 401 });
    cloud.calls.push(`${asked.method} ${asked.url}`);
    say(cloud.answer ?? imagesAt(cloud, asked.url ?? ""));
  });
  const env = {
    ...{ OS_AUTH_URL: `${await listening(t, server)}/v3`, OS_USERNAME: "admin" },
    ...{ OS_PASSWORD: PASSWORD, OS_PROJECT_NAME: "admin" },
  };
  return Object.assign(cloud, { env });
}

function token(origin: string, body: string): Answer {
  if (!body.includes(PASSWORD)) return { status: 401, body: { error: { message: "no" } } };
  const endpoints = [{ interface: "public", region: "one", url: `${origin}/image/v2/` }];
  return { status: 201, body: { token: { catalog: [{ type: "image", endpoints }] } } };
}

function imagesAt({ images }: FakeCloud, path: string): Answer {
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
