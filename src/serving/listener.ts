import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import { isIPv6 } from "node:net";
import { createSecureContext } from "node:tls";
import { MigrationError, systemCode } from "../lib/error.ts";
import { serve } from "./exchange.ts";
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
