import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { type Endpoint, endpointKey } from "./address.ts";
import { IpmiError } from "./policy.ts";
import type { Chance, Line } from "./talk.ts";
import { sessionNamed } from "./wire.ts";

export interface OpenLine extends Line {
  /** Gives the line up; the next one to the same BMC may begin. */
  readonly close: () => void;
}

/** Many BMCs over a few sockets; those in trouble get one of their own. */
export interface Mux {
  /**
   * A line to a BMC. Waits while another one to the same BMC is open.
   * @throws IpmiError when no socket can be opened
   */
  readonly line: (endpoint: Endpoint) => Promise<OpenLine>;
  readonly sockets: () => number;
  /** Datagrams from senders we did not ask, or for sessions that are over. */
  readonly unexpected: () => number;
  /** Lines that are still open hear nothing more. */
  readonly close: () => Promise<void>;
}

type Failed = (code: string) => void;
type Received = (datagram: Buffer, from: RemoteInfo) => void;

/** @param chance gives the first session number; the others follow it */
export function openMux(chance: Chance): Mux {
  const routes = createRoutes(chance);
  const turn = createTurns();
  const shared = createSharedSockets(routes.received);
  const own = createOwnSockets(routes.received);
  return {
    async line(endpoint) {
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
          const other = open ? await own.open(endpoint, failed) : null;
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
    unexpected: routes.unexpected,
    close: async () => {
      own.close();
      await shared.close();
    },
  };
}

interface Route {
  readonly hear: (handler: ((datagram: Buffer) => void) | null) => void;
  readonly newSession: () => number;
  readonly remove: () => void;
}

interface Entry {
  readonly address: string;
  readonly port: number;
  handler: ((datagram: Buffer) => void) | null;
  session: number;
}

/** Who a datagram is for. */
function createRoutes(chance: Chance) {
  const bySource = new Map<string, Entry>();
  const bySession = new Map<number, Entry>();
  let lastSession = chance.bytes(4).readUInt32LE();
  let unexpected = 0;
  return {
    /**
     * By our session's number where the datagram names one, and then only from that session's BMC;
     * else by its sender, to whom only one session is open at a time.
     */
    received(datagram: Buffer, from: RemoteInfo): void {
      const session = sessionNamed(datagram);
      const entry = session === null ? bySource.get(endpointKey(from)) : bySession.get(session);
      const isFrom = entry?.address === from.address && entry.port === from.port;
      if (!isFrom || entry.handler === null) unexpected += 1;
      else entry.handler(datagram);
    },
    add({ address, port }: Endpoint): Route {
      const entry: Entry = { address, port, handler: null, session: 0 };
      bySource.set(endpointKey(entry), entry);
      return {
        hear: (handler) => {
          entry.handler = handler;
        },
        newSession() {
          bySession.delete(entry.session);
          do lastSession = (lastSession + 1) >>> 0;
          while (lastSession === 0 || bySession.has(lastSession));
          entry.session = lastSession;
          bySession.set(entry.session, entry);
          return entry.session;
        },
        remove() {
          entry.handler = null;
          bySource.delete(endpointKey(entry));
          bySession.delete(entry.session);
        },
      };
    },
    unexpected: () => unexpected,
  };
}

/** One at a time for each key. Resolves when it is this caller's turn; what it gives ends the turn. */
export function createTurns(): (key: string) => Promise<() => void> {
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

/** A socket as a line uses it. */
interface Outlet {
  readonly send: (datagram: Buffer, port: number, address: string, failed: Failed) => void;
  /** Gives the place back. */
  readonly release: () => void;
}

/** With 64 in flight the smallest receive buffer of Linux loses nothing. @source facts/ipmi.md 4.2 */
const PER_SOCKET = 64;
/** Bytes; the system gives what it allows. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;

interface Shared {
  readonly family: 4 | 6;
  readonly socket: Socket;
  readonly ready: Promise<void>;
  users: number;
}

/** Sockets that several BMCs share: opened as they are needed, and kept. */
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

/**
 * Sockets for one BMC alone, with a port of its own: the system tells such a one that the port over
 * there is closed. `release` closes it; null when there is none to be had.
 */
function createOwnSockets(received: Received) {
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

/** Only addresses are sent to, so nothing is looked up, and a datagram leaves at once. */
const lookup: NonNullable<SocketOptions["lookup"]> = (address, _, found) => {
  found(null, address, isIPv6(address) ? 6 : 4);
};

async function bound(socket: Socket): Promise<void> {
  try {
    // As nothing is looked up, it may listen before bind returns.
    const listening = once(socket, "listening");
    socket.bind(0);
    await listening;
  } catch (cause) {
    socket.on("error", () => undefined).close();
    const words = `no UDP socket can be opened (${codeOf(cause)})`;
    throw new IpmiError(null, words, { cause });
  }
  // Later errors of the socket are losses; the sender of each datagram hears of its own.
  socket.on("error", () => undefined);
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER);
  } catch {
    // The buffer stays as it is: 64 BMCs on a socket fit into it.
  }
}

/** The system's code only: it names no datagram. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "no code";
}
