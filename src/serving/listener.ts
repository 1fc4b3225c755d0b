import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { type AddressInfo, isIPv6 } from "node:net";
import { MigrationError, systemCode } from "../lib/error.ts";
import type { Reply, ServedRequest } from "../model/served.ts";
import { certificatePair } from "../systems/openstack/http.ts";

export interface ServedRoute {
  readonly path: RegExp;
  readonly answer: (request: ServedRequest) => Promise<Reply>;
}

/** The log entry of a request. It has no data of the caller except the path. */
export interface Served {
  readonly id: string;
  /** The caller's request id, which is passed to other services. Absent: `id` is passed. */
  readonly globalId?: string;
  readonly method: string;
  readonly path: string;
  /** 0: the caller closed the connection before the response. */
  readonly status: number;
  readonly milliseconds: number;
  readonly calls: number;
  readonly broken?: string;
}

interface Serving {
  readonly host: string;
  readonly port: number;
  /** PEM files. Null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly maxConnections: number;
  readonly routes: readonly ServedRoute[];
  /** Formats the listener's own errors as the service does. */
  readonly fault: (status: number, message: string) => Reply;
  readonly served: (request: Served) => void;
}

/** In bytes and milliseconds, for every service. */
export const LIMITS = {
  head: 16 * 1024,
  body: 64 * 1024,
  /** Requests per connection, including pipelined ones. */
  requests: 100,
  /** From the connection, or the previous response, to the last byte of the request. */
  arrival: 10_000,
  /** Interval of the check for slow requests. */
  checking: 500,
  /** Longer than load balancers keep an idle connection. */
  idle: 75_000,
  /** For a caller that does not read the response. */
  unread: 60_000,
  /** For open requests when the service stops. */
  ending: 30_000,
};

/**
 * Node refuses a request that is too long (431), too slow (408) or malformed (400).
 *
 * @throws MigrationError N2I-E116 if the certificate is unusable, N2I-E117 if the address is in use
 *   or not local, N2I-E118 without permission to listen there
 */
export async function listen(serving: Serving) {
  const { host, tls, maxConnections } = serving;
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
      : createTls({
          ...options,
          ...certificatePair(tls, "N2I-E116"),
          handshakeTimeout: LIMITS.arrival,
        });
  Object.assign(server, {
    // No limit: the head of 16 KiB is the limit.
    ...{ maxHeadersCount: 0, maxRequestsPerSocket: LIMITS.requests, maxConnections },
    // A client may close its side after its request. Node's types lack this property.
    httpAllowHalfOpen: true,
  });
  // Node answers each further request with 503: a minute of CPU time for 20,000 on one connection.
  server.on("dropRequest", (_request, socket) => socket.destroy());
  let ending = false;
  server.on("request", (request, response: ServerResponse) => {
    void serve(request, response, serving, () => ending).then(() => {
      // The request may have started before the shutdown.
      if (ending) server.closeIdleConnections();
    });
  });
  await once(server.listen(serving.port, host), "listening").catch((cause: unknown) => {
    const code = systemCode(cause) ?? "";
    const refusal = code === "EACCES" || code === "EPERM" ? "N2I-E118" : "N2I-E117";
    const text = `cannot listen on ${host}:${serving.port}: ${code}`;
    throw new MigrationError(refusal, text, { cause });
  });
  // A connection that the system does not accept must not end the service.
  server.on("error", () => undefined);
  // A server that listens on a port has an object as its address, with the port for port 0.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http${tls === null ? "" : "s"}://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    /** Stops accepting connections, waits for open requests, and cuts those that take too long. */
    end(): Promise<void> {
      ending = true;
      return new Promise((resolve) => {
        const late = setTimeout(() => server.closeAllConnections(), LIMITS.ending);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
}

const CLOSED = "the caller closed the connection";

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
  const { headers: fields, method = "" } = request;
  const id = `req-${randomUUID()}`;
  const requestId = fields["x-openstack-request-id"];
  const globalId = typeof requestId === "string" && ID.test(requestId) ? requestId : id;
  const upstream = { calls: 0 };
  // A request through a proxy has scheme and host before the path.
  const path = (request.url ?? "/").replace(/[?#].*/s, "").replace(/^https?:\/\/[^/]*/i, "");
  const isClosed = () => request.socket.destroyed || request.socket.readableEnded;
  let broken: string | undefined;
  const failed = (error: unknown): void => {
    broken = error instanceof Error ? error.message : String(error);
  };
  try {
    const head = { id, globalId, upstream, path, method, fields, isClosed };
    const reply = await replyTo(request, head, serving, failed);
    await send(request, response, reply, id, ending);
  } catch (error) {
    failed(error);
    response.destroy();
  }
  serving.served({
    ...{ id, method, path: forLog(path, fields["x-auth-token"]) },
    status: response.headersSent ? response.statusCode : 0,
    milliseconds: Math.round(performance.now() - began),
    calls: upstream.calls,
    ...(globalId !== id && { globalId }),
    ...(broken !== undefined && { broken }),
  });
}

async function replyTo(
  request: IncomingMessage,
  head: Omit<ServedRequest, "body">,
  { routes, fault }: Serving,
  failed: (error: unknown) => void,
): Promise<Reply> {
  const wrong = headFault(request);
  if (wrong !== null) return { ...fault(400, wrong), ...LAST };
  const body = await bodyOf(request);
  if (body === null) return { ...fault(413, "the request's body is too long"), ...LAST };
  const route = routes.find(({ path }) => path.test(head.path));
  if (route === undefined) return fault(404, "The resource could not be found.");
  try {
    return await route.answer({ ...head, body });
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
  if (request.destroyed) throw new Error(CLOSED);
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
    request.on("close", () => reject(new Error(CLOSED)));
  });
}

/** @throws Error if the response was not sent completely */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, fields, body, last }: Reply & { readonly last?: boolean },
  id: string,
  ending: () => boolean,
): Promise<void> {
  const checkOpen = (): void => {
    if (response.destroyed) throw new Error(CLOSED);
  };
  checkOpen();
  for (const [name, value] of Object.entries(fields))
    response.setHeader(name, value as string | string[]);
  response.setHeader("X-Openstack-Request-Id", id);
  if (ending() || last === true) response.setHeader("Connection", "close");
  response.statusCode = status;
  // A write after the caller closed the connection emits an error.
  response.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  if (typeof body === "string") response.setHeader("Content-Length", Buffer.byteLength(body));
  if (request.method !== "HEAD")
    // Waits for room in the socket buffer, so that an unread response fetches nothing more.
    for await (const piece of typeof body === "string" ? [body] : body) {
      checkOpen();
      const hasRoom = response.write(piece);
      if (!hasRoom) await inTime(new Promise((resolve) => response.once("drain", resolve)), closed);
    }
  response.end();
  if (last === true) setTimeout(() => request.destroy(), 1000).unref();
  await inTime(closed);
  if (!response.writableFinished) throw new Error(CLOSED);
}

/** Until the first event. @throws Error if the caller does not read the response in time */
async function inTime(...events: readonly Promise<void>[]): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((_, reject) => {
    const reason = new Error("the caller does not read the response");
    late = setTimeout(() => reject(reason), LIMITS.unread);
  });
  try {
    await Promise.race([...events, tooLate]);
  } finally {
    clearTimeout(late);
  }
}

/** Masks parts of the path that may be a token. Projects and node names stay readable. */
function forLog(path: string, token: unknown): string {
  const clean =
    typeof token === "string" && token.length > 2 ? path.replaceAll(token, "****") : path;
  const masked = clean.replaceAll(/[^/]+/g, (part) => (PART.test(part) ? part : "****"));
  return masked.length > LONGEST ? `${masked.slice(0, LONGEST)}...` : masked;
}
