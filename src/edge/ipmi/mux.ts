import type { RemoteInfo } from "node:dgram";
import { type Endpoint, endpointKey } from "./address.ts";
import type { Chance, Line } from "./line.ts";
import { sessionNamed } from "./route.ts";
import { createSockets } from "./sockets.ts";

export interface OpenLine extends Line {
  /** Gives the line up; the next one to the same BMC may begin. */
  readonly close: () => void;
}

/** Many BMCs over a few sockets; those in trouble get one of their own. */
export interface Mux {
  /**
   * A line to a BMC. Waits while another one to the same BMC is open.
   * @throws MigrationError N2I-E400 when no socket can be opened
   */
  readonly line: (endpoint: Endpoint) => Promise<OpenLine>;
  readonly sockets: () => number;
  /** Datagrams from senders we did not ask, or for sessions that are over. */
  readonly strays: () => number;
  /** Lines that are still open hear nothing more. */
  readonly close: () => Promise<void>;
}

interface Entry {
  readonly address: string;
  readonly port: number;
  handler: ((datagram: Buffer) => void) | null;
  session: number;
}

/** @param chance gives the first session number; the others follow it */
export function openMux(chance: Chance): Mux {
  const bySource = new Map<string, Entry>();
  const bySession = new Map<number, Entry>();
  const turns = new Map<string, Promise<void>>();
  let lastSession = chance.bytes(4).readUInt32LE();
  let strays = 0;

  /**
   * By our session's number where the datagram names one, and then only from that session's BMC;
   * else by its sender, to whom only one session is open at a time.
   */
  const received = (datagram: Buffer, from: RemoteInfo): void => {
    const session = sessionNamed(datagram);
    const entry = session === null ? bySource.get(endpointKey(from)) : bySession.get(session);
    const isFrom = entry?.address === from.address && entry.port === from.port;
    if (!isFrom || entry.handler === null) strays += 1;
    else entry.handler(datagram);
  };
  const sockets = createSockets(received);

  const newSession = (entry: Entry): number => {
    bySession.delete(entry.session);
    do lastSession = (lastSession + 1) >>> 0;
    while (lastSession === 0 || bySession.has(lastSession));
    entry.session = lastSession;
    bySession.set(entry.session, entry);
    return entry.session;
  };

  /** Resolves when it is this caller's turn; the function it gives ends the turn. */
  const turn = async (key: string): Promise<() => void> => {
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

  return {
    async line(endpoint) {
      const key = endpointKey(endpoint);
      const endTurn = await turn(key);
      let socket = await sockets.take(endpoint.family).catch((cause: unknown) => {
        endTurn();
        throw cause;
      });
      const { address, port } = endpoint;
      const entry: Entry = { address, port, handler: null, session: 0 };
      bySource.set(key, entry);
      let fault: string | null = null;
      let open = true;
      const failed = (code: string): void => {
        fault = code;
      };
      return {
        send(datagram) {
          if (open) socket.send(datagram, port, address, failed);
        },
        receive(handler) {
          entry.handler = open ? handler : null;
        },
        async renew() {
          const other = open ? await sockets.own(endpoint, failed) : null;
          if (other === null) return;
          if (!open) return other.release();
          socket.release();
          socket = other;
        },
        newSession: () => newSession(entry),
        fault: () => fault,
        close() {
          if (!open) return;
          open = false;
          entry.handler = null;
          bySource.delete(key);
          bySession.delete(entry.session);
          socket.release();
          endTurn();
        },
      };
    },
    sockets: sockets.count,
    strays: () => strays,
    close: sockets.close,
  };
}
