import { randomBytes } from "node:crypto";
import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { type Endpoint, endpointKey } from "./address.ts";
import { IpmiError } from "./policy.ts";
import type { Line } from "./talk.ts";
import { sessionIdOf } from "./wire.ts";

export interface OpenLine extends Line {
  /** Releases the BMC for the next line. */
  readonly close: () => void;
}

type Failed = (code: string) => void;
type Received = (datagram: Buffer, from: RemoteInfo) => void;

/** Many BMCs over a few shared sockets. A BMC with problems gets its own socket. */
export type Mux = ReturnType<typeof openMux>;

export function openMux() {
  const routes = createRoutes();
  const turn = createTurns();
  const shared = createSharedSockets(routes.received);
  const connected = createConnectedSockets(routes.received);
  return {
    /** Waits while the BMC has another line. @throws IpmiError if no socket can be opened */
    async line(endpoint: Endpoint): Promise<OpenLine> {
      const endTurn = await turn(endpointKey(endpoint));
      let socket = await shared.take(endpoint.family).catch((cause: unknown) => {
        endTurn();
        throw cause;
      });
      const route = routes.add(endpoint);
      let fault: string | null = null;
      let open = true;
      const failed = (code: string): void => {
        fault = code;
      };
      return {
        send(datagram) {
          if (open) socket.send(datagram, endpoint.port, endpoint.address, failed);
        },
        receive(handler) {
          if (open) route.hear(handler);
        },
        async renew() {
          const other = open ? await connected.open(endpoint, failed) : null;
          if (other === null) return;
          if (!open) return other.release();
          socket.release();
          socket = other;
        },
        newSession: route.newSession,
        fault: () => fault,
        close() {
          if (!open) return;
          open = false;
          route.remove();
          socket.release();
          endTurn();
        },
      };
    },
    sockets: shared.count,
    /** Number of datagrams from unknown senders, or for closed sessions. */
    unexpected: routes.unexpected,
    /** Open lines receive nothing more. */
    close: async (): Promise<void> => {
      connected.close();
      await shared.close();
    },
  };
}

interface Entry {
  readonly address: string;
  readonly port: number;
  handler: ((datagram: Buffer) => void) | null;
  session: number;
}

/** Assigns datagrams to lines. */
function createRoutes() {
  const bySource = new Map<string, Entry>();
  const bySession = new Map<number, Entry>();
  let lastSession = randomBytes(4).readUInt32LE();
  let unexpected = 0;
  return {
    /** By session id, if it matches its BMC, else by sender, which has only one open session. */
    received(datagram: Buffer, from: RemoteInfo): void {
      const session = sessionIdOf(datagram);
      const entry = session === null ? bySource.get(endpointKey(from)) : bySession.get(session);
      const isFrom = entry?.address === from.address && entry.port === from.port;
      if (!isFrom || entry.handler === null) unexpected += 1;
      else entry.handler(datagram);
    },
    add({ address, port }: Endpoint) {
      const entry: Entry = { address, port, handler: null, session: 0 };
      bySource.set(endpointKey(entry), entry);
      return {
        hear(handler: Entry["handler"]): void {
          entry.handler = handler;
        },
        newSession(): number {
          bySession.delete(entry.session);
          do lastSession = (lastSession + 1) >>> 0;
          while (lastSession === 0 || bySession.has(lastSession));
          entry.session = lastSession;
          bySession.set(entry.session, entry);
          return entry.session;
        },
        remove(): void {
          entry.handler = null;
          bySource.delete(endpointKey(entry));
          bySession.delete(entry.session);
        },
      };
    },
    unexpected: () => unexpected,
  };
}

/** One caller at a time per key. The result ends the turn. */
function createTurns(): (key: string) => Promise<() => void> {
  const turns = new Map<string, Promise<void>>();
  return async (key) => {
    const before = turns.get(key);
    let end = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      end = resolve;
    });
    turns.set(key, mine);
    await before;
    return () => {
      if (turns.get(key) === mine) turns.delete(key);
      end();
    };
  };
}

interface Outlet {
  readonly send: (datagram: Buffer, port: number, address: string, failed: Failed) => void;
  /** Gives the place back. */
  readonly release: () => void;
}

/** With 64 BMCs, the smallest receive buffer of Linux loses nothing. @source facts/ipmi.md 4.2 */
const PER_SOCKET = 64;
/** Bytes. The system may allow less. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;

interface Shared {
  readonly family: 4 | 6;
  readonly socket: Socket;
  readonly ready: Promise<void>;
  users: number;
}

/** Sockets for several BMCs, opened on demand. */
function createSharedSockets(received: Received) {
  const all: Shared[] = [];
  const create = (family: 4 | 6): Shared => {
    const socket = socketOf(family, received);
    const entry = { family, socket, ready: bound(socket), users: 0 };
    all.push(entry);
    return entry;
  };
  return {
    async take(family: 4 | 6): Promise<Outlet> {
      const entry =
        all.find((one) => one.family === family && one.users < PER_SOCKET) ?? create(family);
      entry.users += 1;
      try {
        await entry.ready;
      } catch (cause) {
        const at = all.indexOf(entry);
        if (at >= 0) all.splice(at, 1);
        throw cause;
      }
      return {
        send(datagram, port, address, failed) {
          entry.socket.send(datagram, port, address, (error) => {
            if (error !== null) failed(codeOf(error));
          });
        },
        release() {
          entry.users -= 1;
        },
      };
    },
    count: () => all.length,
    async close(): Promise<void> {
      await Promise.all(
        all.splice(0).map(async ({ socket, ready }) => {
          await ready.catch(() => undefined);
          const closed = once(socket, "close");
          socket.close();
          await closed;
        }),
      );
    },
  };
}

/** Connected sockets for one BMC each: the system reports a closed port only to these. */
function createConnectedSockets(received: Received) {
  const owned = new Set<Socket>();
  return {
    async open({ family, port, address }: Endpoint, failed: Failed): Promise<Outlet | null> {
      const socket = socketOf(family, received);
      owned.add(socket);
      const release = (): void => {
        if (owned.delete(socket)) socket.close();
      };
      try {
        const connected = once(socket, "connect");
        socket.connect(port, address);
        await connected;
      } catch (error) {
        socket.on("error", () => undefined);
        failed(codeOf(error));
        release();
        return null;
      }
      socket.on("error", (error) => failed(codeOf(error)));
      return {
        send(datagram) {
          if (!owned.has(socket)) return;
          socket.send(datagram, (error) => {
            if (error !== null) failed(codeOf(error));
          });
        },
        release,
      };
    },
    close(): void {
      for (const socket of owned) socket.close();
      owned.clear();
    },
  };
}

function socketOf(family: 4 | 6, received: Received): Socket {
  const options: SocketOptions =
    family === 4 ? { type: "udp4", lookup } : { type: "udp6", ipv6Only: true, lookup };
  return createSocket(options, received);
}

/** Destinations are addresses. Without a lookup, a datagram is sent immediately. */
const lookup: NonNullable<SocketOptions["lookup"]> = (address, _, found) => {
  found(null, address, isIPv6(address) ? 6 : 4);
};

async function bound(socket: Socket): Promise<void> {
  try {
    // Without a lookup, it may listen before bind() returns.
    const listening = once(socket, "listening");
    socket.bind(0);
    await listening;
  } catch (cause) {
    socket.on("error", () => undefined).close();
    const message = `no UDP socket can be opened (${codeOf(cause)})`;
    throw new IpmiError(null, message, { cause });
  }
  // Later errors are lost datagrams, and each send reports its own.
  socket.on("error", () => undefined);
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER);
  } catch {
    // The default buffer is enough for 64 BMCs.
  }
}

/** Only the code, because the message may contain the datagram. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "no code";
}
