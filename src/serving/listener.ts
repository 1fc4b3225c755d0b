import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { isIPv6 } from "node:net";
import { createSecureContext } from "node:tls";
import { MigrationError, systemCode } from "../lib/error.ts";
import type { AskedFor, Reply } from "../model/served.ts";
import { LIMITS, type Serving } from "./serving.ts";

export interface Listener {
  /** With the port that was found where 0 was asked for. */
  readonly url: string;
  /** Takes no connection more, and waits for what is under way; what is not done then is cut. */
  readonly end: () => Promise<void>;
}

/**
 * Listens and answers requests by the table of routes. Node refuses a head that is too long (431), a request that is too
 * slow (408) or malformed (400), and closes connections beyond `maxConnections`.
 *
 * @throws MigrationError N2I-E116 when the certificate cannot be used, N2I-E117 when the address is taken
 *   or not this host's, N2I-E118 when this user may not listen there
 */
export async function listen(serving: Serving): Promise<Listener> {
  const { tls } = serving;
  const options = {
    maxHeaderSize: LIMITS.head,
    headersTimeout: LIMITS.arrival,
    requestTimeout: LIMITS.arrival,
    connectionsCheckingInterval: LIMITS.checking,
    keepAliveTimeout: LIMITS.idle,
    // Of a TLS connection; node:http always has it of a plain one.
    allowHalfOpen: true,
  };
  const server =
    tls === null
      ? createServer(options)
      : createTls({ ...options, ...pair(tls), handshakeTimeout: LIMITS.arrival });
  // What a head of 16 KiB can hold is looked at whole.
  server.maxHeadersCount = 0;
  // A client may close its side after its request and gets the answer. Node's types do not have this property.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxConnections = serving.maxConnections;
  server.maxRequestsPerSocket = LIMITS.requests;
  // Node would answer each further request with 503, which takes a minute of CPU time for 20,000 on one connection.
  server.on("dropRequest", (_request, socket) => socket.destroy());
  let ending = false;
  server.on("request", (request, response: ServerResponse) => {
    void serve(request, response, serving, () => ending).then(() => {
      // It may have begun before the end did.
      if (ending) server.closeIdleConnections();
    });
  });
  await bind(server, serving);
  return {
    url: urlOf(server, serving),
    end: () => {
      ending = true;
      return close(server);
    },
  };
}

function pair({ cert, key }: { readonly cert: string; readonly key: string }): {
  readonly cert: Buffer;
  readonly key: Buffer;
} {
  const read = (path: string): Buffer => {
    try {
      return readFileSync(path);
    } catch (cause) {
      throw new MigrationError("N2I-E116", `the certificate file ${path} cannot be read`, {
        cause,
      });
    }
  };
  const both = { cert: read(cert), key: read(key) };
  try {
    createSecureContext(both);
  } catch {
    throw new MigrationError("N2I-E116", `${cert} and ${key} are no certificate and its key (PEM)`);
  }
  return both;
}

function bind(server: Server, { host, port }: Serving): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const code = systemCode(cause) ?? "";
      const denied = code === "EACCES" || code === "EPERM";
      const refusal = denied ? "N2I-E118" : "N2I-E117";
      reject(new MigrationError(refusal, `cannot listen on ${host}:${port}: ${code}`, { cause }));
    });
    server.listen(port, host, resolve);
  });
}

function urlOf(server: Server, { host, tls, port }: Serving): string {
  const at = server.address();
  const found = at === null || typeof at === "string" ? port : at.port;
  return `http${tls === null ? "" : "s"}://${isIPv6(host) ? `[${host}]` : host}:${found}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), LIMITS.ending);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}

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
async function serve(
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
  // A proxy's request names scheme and host before the path.
  const path = (request.url ?? "/").replace(/[?#].*/s, "").replace(/^https?:\/\/[^/]*/i, "");
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
