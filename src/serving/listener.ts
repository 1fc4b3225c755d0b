import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { type AddressInfo, isIPv6 } from "node:net";
import { createSecureContext } from "node:tls";
import { MigrationError, systemCode } from "../lib/error.ts";
import type { Reply, ServedRequest } from "../model/served.ts";
import { LIMITS, type Serving } from "./serving.ts";

/**
 * Node refuses a request that is too long (431), too slow (408) or malformed (400).
 *
 * @throws MigrationError N2I-E116 if the certificate is unusable, N2I-E117 if the address is in use
 *   or not local, N2I-E118 without permission to listen there
 */
export async function listen(serving: Serving) {
  const { tls } = serving;
  const options = {
    maxHeaderSize: LIMITS.head,
    headersTimeout: LIMITS.arrival,
    requestTimeout: LIMITS.arrival,
    connectionsCheckingInterval: LIMITS.checking,
    keepAliveTimeout: LIMITS.idle,
    // For TLS. node:http always sets it for plain connections.
    allowHalfOpen: true,
  };
  const server =
    tls === null
      ? createServer(options)
      : createTls({ ...options, ...pair(tls), handshakeTimeout: LIMITS.arrival });
  // No limit: the head of 16 KiB is the limit.
  server.maxHeadersCount = 0;
  // A client may close its side after its request. Node's types lack this property.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxConnections = serving.maxConnections;
  server.maxRequestsPerSocket = LIMITS.requests;
  // Node answers each further request with 503: a minute of CPU time for 20,000 on one connection.
  server.on("dropRequest", (_request, socket) => socket.destroy());
  let ending = false;
  server.on("request", (request, response: ServerResponse) => {
    void serve(request, response, serving, () => ending).then(() => {
      // The request may have started before the shutdown.
      if (ending) server.closeIdleConnections();
    });
  });
  await bind(server, serving);
  return {
    /** With the actual port if port 0 was requested. */
    url: urlOf(server, serving),
    /** Stops accepting connections, waits for open requests, and cuts those that take too long. */
    end: (): Promise<void> => {
      ending = true;
      return close(server);
    },
  };
}

function pair({ cert, key }: NonNullable<Serving["tls"]>) {
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
    throw new MigrationError(
      "N2I-E116",
      `${cert} and ${key} are not a certificate and its key (PEM)`,
    );
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

function urlOf(server: Server, { host, tls }: Serving): string {
  // A server that listens on a port has an object as its address.
  const { port } = server.address() as AddressInfo;
  return `http${tls === null ? "" : "s"}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
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
const LONGEST = 200;
/** A part of a path that the log may contain. Fernet tokens begin with gAAAA. */
const PART = /^(?!.*gAAAA)[\w.~-]{0,64}$/;

/** Never throws. @param ending whether to close the connection after the response */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  serving: Serving,
  ending: () => boolean,
): Promise<void> {
  const began = performance.now();
  const id = `req-${randomUUID()}`;
  const requestId = request.headers["x-openstack-request-id"];
  const globalId = typeof requestId === "string" && ID.test(requestId) ? requestId : id;
  const upstream = { calls: 0 };
  // A request through a proxy has scheme and host before the path.
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
  head: Pick<ServedRequest, "id" | "globalId" | "upstream" | "path">,
  { routes, fault }: Serving,
  failed: (error: unknown) => void,
): Promise<Reply> {
  const wrong = headFault(request);
  if (wrong !== null) return { ...fault(400, wrong), ...LAST };
  const body = await bodyOf(request);
  if (body === null) return { ...fault(413, "the request's body is too long"), ...LAST };
  const served: ServedRequest = {
    ...head,
    method: request.method ?? "",
    fields: request.headers,
    body,
    isClosed: () => request.socket.destroyed || request.socket.readableEnded,
  };
  const route = routes.find(({ path }) => path.test(served.path));
  if (route === undefined) return fault(404, "The resource could not be found.");
  try {
    return await route.answer(served);
  } catch (error) {
    failed(error);
    // A refusal of this tool means that another service failed.
    return error instanceof MigrationError
      ? fault(503, error.message)
      : fault(500, "Internal error; see the log for this request id");
  }
}

/** Headers this tool reads, of which Node ignores all but the first value. */
const ONCE = ["Host", "Content-Type"] as const;
/** Characters of a host and port. @source RFC 3986, 3.2.2 and 3.2.3 */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** Node itself refuses a request without a Host header. @source RFC 9112, 3.2 */
function headFault({ headers: { host = "" }, headersDistinct }: IncomingMessage): string | null {
  const repeated = ONCE.find((name) => (headersDistinct[name.toLowerCase()] ?? []).length > 1);
  if (repeated !== undefined) return `the request has more than one ${repeated} header: send one`;
  return HOST.test(host) ? null : "the Host header is neither a name nor an address: correct it";
}

/** After a request that is too long or ambiguous, the rest of the connection cannot be parsed. */
const LAST = { last: true };

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers["content-length"] ?? 0) > LIMITS.body) return null;
  if (request.destroyed) throw new Error("the caller closed the connection");
  const chunks: Buffer[] = [];
  let size = 0;
  // Stopping the request's iterator would destroy the connection.
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > LIMITS.body) resolve(null);
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("the caller closed the connection")));
  });
}

/** @throws Error if the response was not sent completely */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply & { readonly last?: boolean },
  { id, ending }: { readonly id: string; readonly ending: () => boolean },
): Promise<void> {
  const { status, fields, body, last } = reply;
  if (response.destroyed) throw new Error("the caller closed the connection");
  for (const [name, value] of Object.entries(fields))
    response.setHeader(name, value as string | string[]);
  response.setHeader("X-Openstack-Request-Id", id);
  if (ending() || last === true) response.setHeader("Connection", "close");
  response.statusCode = status;
  // A write after the caller closed the connection emits an error.
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
  if (!response.writableFinished) throw new Error("the caller closed the connection");
}

/** Waits for room in the socket buffer, so an unread response fetches nothing more. */
async function write(response: ServerResponse, piece: string): Promise<void> {
  if (response.destroyed) throw new Error("the caller closed the connection");
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

/** @throws Error if the caller does not read the response in time */
async function inTime(waiting: Promise<void>): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((_, reject) => {
    late = setTimeout(
      () => reject(new Error("the caller does not read the response")),
      LIMITS.unread,
    );
  });
  try {
    await Promise.race([waiting, tooLate]);
  } finally {
    clearTimeout(late);
  }
}

/** Masks parts of the path that may be a token. Projects and node names stay readable. */
function forLog(path: string, { headers }: IncomingMessage): string {
  const token = headers["x-auth-token"];
  const clean =
    typeof token === "string" && token.length > 2 ? path.replaceAll(token, "****") : path;
  const masked = clean
    .split("/")
    .map((part) => (PART.test(part) ? part : "****"))
    .join("/");
  return masked.length > LONGEST ? `${masked.slice(0, LONGEST)}...` : masked;
}
