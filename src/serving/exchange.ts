import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { MigrationError } from "../lib/error.ts";
import type { AskedFor, Reply } from "../model/served.ts";
import { LIMITS, type Serving } from "./serving.ts";

const ID = /^req-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** Of a path in the log. */
const LONGEST = 200;
/** Fernet's tokens begin with gAAAA. */
const PART = /^(?!.*gAAAA)[\w.~-]{0,64}$/;

/**
 * One request and its answer, to the end of both; fails never.
 *
 * @param ending whether this is to be the connection's last
 */
export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  serving: Serving,
  ending: () => boolean,
): Promise<void> {
  const began = performance.now();
  const id = `req-${randomUUID()}`;
  const own = request.headers["x-openstack-request-id"];
  const globalId = typeof own === "string" && ID.test(own) ? own : id;
  const upstream = { calls: 0 };
  const path = pathOf(request.url ?? "/");
  let broken: string | undefined;
  const failed = (error: unknown): void => {
    broken = error instanceof Error ? error.message : String(error);
  };
  try {
    const reply = await replyTo(request, { id, globalId, upstream, path }, serving, failed);
    await send(request, response, reply, { id, ending });
  } catch (error) {
    failed(error);
    response.destroy();
  }
  serving.served({
    ...{ id, method: request.method ?? "", path: forLog(path, request) },
    status: response.headersSent ? response.statusCode : 0,
    milliseconds: Math.round(performance.now() - began),
    calls: upstream.calls,
    ...(globalId !== id && { globalId }),
    ...(broken !== undefined && { broken }),
  });
}

/** Without the query; a proxy's request names scheme and host before it. */
function pathOf(url: string): string {
  return url.replace(/[?#].*/s, "").replace(/^https?:\/\/[^/]*/i, "");
}

async function replyTo(
  request: IncomingMessage,
  known: Pick<AskedFor, "id" | "globalId" | "upstream" | "path">,
  { routes, fault }: Serving,
  failed: (error: unknown) => void,
): Promise<Reply> {
  const wrong = headFault(request);
  if (wrong !== null) return { ...fault(400, wrong), ...LAST };
  const body = await bodyOf(request);
  if (body === null) return { ...fault(413, "the request's body is too long"), ...LAST };
  const asked: AskedFor = {
    ...known,
    method: request.method ?? "",
    fields: request.headers,
    body,
    gone: () => request.socket.destroyed || request.socket.readableEnded,
  };
  const route = routes.find(({ path }) => path.test(asked.path));
  if (route === undefined) return fault(404, "The resource could not be found.");
  try {
    return await route.answer(asked);
  } catch (error) {
    failed(error);
    // What this tool throws on purpose is about a service that does not answer as it should.
    return error instanceof MigrationError
      ? fault(503, error.message)
      : fault(500, "Internal error; see the log for this request id");
  }
}

/** Fields with one value of which Node uses the first and ignores the others, and which this tool reads. */
const ONCE = ["Host", "Content-Type"] as const;
/** Characters of a host, and the colon before its port. @source RFC 3986, 3.2.2 and 3.2.3 */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** Why a request is refused whatever its path is; Node refuses one without a Host. @source RFC 9112, 3.2 */
function headFault({ headers: { host = "" }, headersDistinct }: IncomingMessage): string | null {
  const repeated = ONCE.find((name) => (headersDistinct[name.toLowerCase()] ?? []).length > 1);
  if (repeated !== undefined) return `the request has more than one ${repeated} header: send one`;
  return HOST.test(host) ? null : "the Host header is neither a name nor an address: correct it";
}

/** A request that is too long or ambiguous is not read further: nothing can follow it on this connection. */
const LAST = { last: true };

/** Null where it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers["content-length"] ?? 0) > LIMITS.body) return null;
  if (request.destroyed) throw new Error("the caller is gone");
  const chunks: Buffer[] = [];
  let size = 0;
  // Not by its iterator, which would destroy the connection where it stops.
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > LIMITS.body) resolve(null);
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("the caller is gone")));
  });
}

/** @throws Error where it could not be sent whole */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply & { readonly last?: boolean },
  { id, ending }: { readonly id: string; readonly ending: () => boolean },
): Promise<void> {
  const { status, fields, body, last } = reply;
  if (response.destroyed) throw new Error("the caller is gone");
  for (const [name, value] of Object.entries(fields))
    response.setHeader(name, value as string | string[]);
  response.setHeader("X-Openstack-Request-Id", id);
  if (ending() || last === true) response.setHeader("Connection", "close");
  response.statusCode = status;
  // It may be gone while nobody waits for it.
  response.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  if (typeof body === "string") {
    response.setHeader("Content-Length", Buffer.byteLength(body));
    response.end(request.method === "HEAD" ? undefined : body);
  } else if (request.method === "HEAD") response.end();
  else {
    for await (const piece of body) await write(response, piece);
    response.end();
  }
  if (last === true) setTimeout(() => request.destroy(), 1000).unref();
  await inTime(closed);
  if (!response.writableFinished) throw new Error("the caller went away");
}

/** Waits until there is room for more: what nobody reads is not fetched. */
async function write(response: ServerResponse, piece: string): Promise<void> {
  if (response.destroyed) throw new Error("the caller went away");
  if (response.write(piece)) return;
  let settled: () => void = () => undefined;
  const room = new Promise<void>((resolve) => {
    settled = resolve;
  });
  response.on("drain", settled).on("close", settled);
  try {
    await inTime(room);
  } finally {
    response.off("drain", settled).off("close", settled);
  }
}

/** @throws Error where what waits for the caller to read waits too long */
async function inTime(waiting: Promise<void>): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((_, reject) => {
    late = setTimeout(() => reject(new Error("the caller does not read")), LIMITS.unread);
  });
  try {
    await Promise.race([waiting, tooLate]);
  } finally {
    clearTimeout(late);
  }
}

/** What can be a project or the name of a node is told; a token that somebody wrote there is not. */
function forLog(path: string, { headers }: IncomingMessage): string {
  const token = headers["x-auth-token"];
  const clean =
    typeof token === "string" && token.length > 2 ? path.replaceAll(token, "****") : path;
  const said = clean
    .split("/")
    .map((part) => (PART.test(part) ? part : "****"))
    .join("/");
  return said.length > LONGEST ? `${said.slice(0, LONGEST)}...` : said;
}
