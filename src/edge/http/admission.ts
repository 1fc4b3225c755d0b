import type { Server } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { refuseRaw } from "./raw.ts";
import type { Serving } from "./serving.ts";

/** Connections that may be told why they are refused; what comes beyond is dropped. */
const TOLD = 128;

/** Keeps count of connections, and answers 503 at once to one too many. @returns those that are open */
export function admit(server: Server, serving: Serving): ReadonlySet<Socket> {
  const { maxConnections: most } = serving;
  const open = new Set<Socket>();
  server.maxConnections = most + TOLD;
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  let admitted = 0;
  // With TLS there is nobody to be told before the handshake.
  server.prependListener(
    server instanceof TlsServer ? "secureConnection" : "connection",
    (socket: Socket) => {
      if (admitted >= most) return refuseRaw(socket, [503, "too many connections"], serving);
      admitted += 1;
      socket.once("close", () => {
        admitted -= 1;
      });
    },
  );
  return open;
}
