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

/** Many BMCs over a few shared sockets. A BMC with problems gets its own socket. */
export type Mux = ReturnType<typeof openMux>;

export function openMux() {
  const routes = createRoutes();
  const turn = createTurns();
  const sockets = createSockets(routes.received);
  return {
    /** Waits while the BMC has another line. @throws IpmiError if no socket can be opened */
    async line(endpoint: Endpoint): Promise<OpenLine> {
      const endTurn = await turn(endpointKey(endpoint));
      let fault: string | null = null;
      const failed = (error: unknown): void => {
        fault = codeOf(error);
      };
      let outlet = await sockets.share(endpoint, failed).catch((cause: unknown) => {
        endTurn();
        throw cause;
      });
      const { route, newSession, remove } = routes.add(endpoint);
      let open = true;
      return {
        send(datagram) {
          if (open) outlet.send(datagram);
        },
        receive(handler) {
          if (open) route.handler = handler;
        },
        async renew() {
          const other = open ? await sockets.connect(endpoint, failed) : null;
          if (other === null) return;
          if (!open) return other.release();
          outlet.release();
          outlet = other;
        },
        newSession,
        fault: () => fault,
        close() {
          if (!open) return;
          open = false;
          remove();
          outlet.release();
          endTurn();
        },
      };
    },
    sockets: sockets.count,
    /** Number of datagrams from unknown senders, or for closed sessions. */
    unexpected: routes.unexpected,
    /** Open lines receive nothing more. */
    close: sockets.close,
  };
}

/** Assigns datagrams to lines. */
function createRoutes() {
  type Route = Endpoint & { handler: ((datagram: Buffer) => void) | null; session: number };
  const bySource = new Map<string, Route>();
  const bySession = new Map<number, Route>();
  let lastSession = randomBytes(4).readUInt32LE();
  let unexpected = 0;
  return {
    /** By session id, if it matches its BMC, else by sender, which has only one open session. */
    received(datagram: Buffer, from: RemoteInfo): void {
      const session = sessionIdOf(datagram);
      const route = session === null ? bySource.get(endpointKey(from)) : bySession.get(session);
      const isFrom = route?.address === from.address && route.port === from.port;
      if (!isFrom || route.handler === null) unexpected += 1;
      else route.handler(datagram);
    },
    add(endpoint: Endpoint) {
      const route: Route = { ...endpoint, handler: null, session: 0 };
      bySource.set(endpointKey(route), route);
      return {
        route,
        newSession(): number {
          bySession.delete(route.session);
          do lastSession = (lastSession + 1) >>> 0;
          while (lastSession === 0 || bySession.has(lastSession));
          route.session = lastSession;
          bySession.set(route.session, route);
          return route.session;
        },
        remove(): void {
          route.handler = null;
          bySource.delete(endpointKey(route));
          bySession.delete(route.session);
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

/** With 64 BMCs, the smallest receive buffer of Linux loses nothing. @source facts/ipmi.md 4.2 */
const PER_SOCKET = 64;
/** Bytes. The system may allow less. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;

type Failed = (error: unknown) => void;

function createSockets(received: (datagram: Buffer, from: RemoteInfo) => void) {
  const shared: { family: 4 | 6; socket: Socket; ready: Promise<void>; users: number }[] = [];
  const connected = new Set<Socket>();
  const create = (family: 4 | 6): Socket => {
    const options: SocketOptions =
      family === 4 ? { type: "udp4", lookup } : { type: "udp6", ipv6Only: true, lookup };
    return createSocket(options, received);
  };
  const addShared = (family: 4 | 6): (typeof shared)[number] => {
    const socket = create(family);
    const entry = { family, socket, ready: bound(socket), users: 0 };
    shared.push(entry);
    return entry;
  };
  return {
    /** A place at a socket for several BMCs, which is opened on demand. */
    async share({ family, port, address }: Endpoint, failed: Failed) {
      const entry =
        shared.find((one) => one.family === family && one.users < PER_SOCKET) ?? addShared(family);
      entry.users += 1;
      await entry.ready.catch((cause: unknown) => {
        const at = shared.indexOf(entry);
        if (at >= 0) shared.splice(at, 1);
        throw cause;
      });
      return {
        send: (datagram: Buffer): void =>
          entry.socket.send(datagram, port, address, (error) => {
            if (error !== null) failed(error);
          }),
        release(): void {
          entry.users -= 1;
        },
      };
    },
    /** A connected socket for one BMC: the system reports a closed port only to these. */
    async connect({ family, port, address }: Endpoint, failed: Failed) {
      const socket = create(family);
      connected.add(socket);
      const release = (): void => {
        if (connected.delete(socket)) socket.close();
      };
      try {
        const connecting = once(socket, "connect");
        socket.connect(port, address);
        await connecting;
      } catch (error) {
        socket.on("error", () => undefined);
        failed(error);
        release();
        return null;
      }
      socket.on("error", failed);
      const send = (datagram: Buffer): void => {
        if (!connected.has(socket)) return;
        socket.send(datagram, (error) => {
          if (error !== null) failed(error);
        });
      };
      return { send, release };
    },
    count: () => shared.length,
    async close(): Promise<void> {
      for (const socket of connected) socket.close();
      connected.clear();
      const closing = shared.splice(0).map(async ({ socket, ready }) => {
        await ready.catch(() => undefined);
        const closed = once(socket, "close");
        socket.close();
        await closed;
      });
      await Promise.all(closing);
    },
  };
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
