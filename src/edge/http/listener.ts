import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { isIPv6, type Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { MigrationError, systemCode } from "../../model/error.ts";
import { admit } from "./admission.ts";
import { serve } from "./exchange.ts";
import { refuseRaw } from "./raw.ts";
import { LIMITS, type Serving } from "./serving.ts";

export interface Listener {
  /** With the port that was found where 0 was asked for. */
  readonly url: string;
  /** Takes no connection more, and waits for what is under way; what is not done then is cut. */
  readonly end: () => Promise<void>;
}

/**
 * Listens, and answers by the table of routes; it knows nothing of a service. One request a connection
 * is under way at a time, whatever is sent ahead.
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
    connectionsCheckingInterval: 500,
    keepAliveTimeout: LIMITS.idle,
  };
  const server =
    tls === null
      ? createServer(options)
      : createTls({ ...options, ...pair(tls), handshakeTimeout: LIMITS.arrival });
  // What a head of 16 KiB can hold is looked at whole.
  server.maxHeadersCount = 0;
  const open = admit(server, serving);
  let ending = false;
  const queues = new WeakMap<Socket, Queue>();
  server.on("request", (request, response: ServerResponse) => {
    const { socket } = request;
    const before = queues.get(socket);
    const length = (before?.length ?? 0) + 1;
    // Whatever was answered now would stand where another answer is awaited.
    if (length > LIMITS.ahead) return refuseRaw(socket, null, serving);
    const work = async (): Promise<void> => {
      await serve(request, response, serving, () => ending);
      const queue = queues.get(socket);
      if (queue !== undefined) queue.length -= 1;
      // It may have begun before the end did.
      if (ending) server.closeIdleConnections();
    };
    // What comes alone is answered at once.
    const last = before === undefined ? work() : before.last.then(work);
    queues.set(socket, { last, length, request, response });
  });
  const refuse = (socket: Socket, what: Parameters<typeof refuseRaw>[1]): void =>
    refuseRaw(socket, isAnswering(queues.get(socket)) ? null : what, serving);
  server.on("clientError", (error, socket) => refuse(socket as Socket, clientFault(error)));
  server.on("connect", (_request, socket) =>
    refuse(socket as Socket, [405, "CONNECT is not served"]),
  );
  await bind(server, serving);
  return {
    url: urlOf(server, serving),
    end: () => {
      ending = true;
      return close(server, open);
    },
  };
}

/** Requests of a connection that have no whole answer, the newest of them with what answers it. */
interface Queue {
  readonly last: Promise<void>;
  length: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Whether another answer would be taken for one that is awaited, or stand in the middle of it. */
function isAnswering(queue: Queue | undefined): boolean {
  if (queue === undefined || queue.length === 0) return false;
  return queue.length > 1 || queue.request.complete || queue.response.headersSent;
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

/** @source Node, lib/_http_server.js socketOnError; llhttp's HPE_* */
function clientFault(error: Error): readonly [status: number, message: string] | null {
  const code = systemCode(error) ?? "";
  if (code === "HPE_HEADER_OVERFLOW") return [431, "the request's head is too long"];
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "the request did not come in time"];
  // Whoever is gone reads no answer.
  return code.startsWith("HPE_") ? [400, "not a valid HTTP request"] : null;
}

function close(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, LIMITS.ending);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}
