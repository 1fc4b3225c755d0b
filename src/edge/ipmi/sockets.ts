import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { MigrationError } from "../../model/error.ts";
import type { Endpoint } from "./address.ts";

/** A UDP socket that several BMCs share. */
export interface SharedSocket {
  readonly send: (
    datagram: Buffer,
    port: number,
    address: string,
    failed: (code: string) => void,
  ) => void;
  /** Gives the place back; the socket stays for the next. */
  readonly release: () => void;
}

export interface Sockets {
  readonly take: (family: 4 | 6) => Promise<SharedSocket>;
  /**
   * A socket for one BMC alone, with a port of its own: the system tells such a one that the port
   * over there is closed. `release` closes it.
   *
   * @returns null when there is none to be had
   */
  readonly own: (
    endpoint: Endpoint,
    failed: (code: string) => void,
  ) => Promise<SharedSocket | null>;
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

/** With 64 in flight the smallest receive buffer of Linux loses nothing. @source facts/ipmi.md 4.2 */
const PER_SOCKET = 64;
/** Bytes; the system gives what it allows. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;

interface Entry {
  readonly family: 4 | 6;
  readonly socket: Socket;
  readonly ready: Promise<void>;
  users: number;
}

/** Opens sockets as they are needed and keeps them. */
export function createSockets(received: (datagram: Buffer, from: RemoteInfo) => void): Sockets {
  const entries: Entry[] = [];
  const owned = new Set<Socket>();

  const socketOf = (family: 4 | 6): Socket =>
    createSocket(
      family === 4 ? { type: "udp4", lookup } : { type: "udp6", ipv6Only: true, lookup },
      received,
    );

  const create = (family: 4 | 6): Entry => {
    const socket = socketOf(family);
    const entry = { family, socket, ready: bound(socket), users: 0 };
    entries.push(entry);
    return entry;
  };

  return {
    async take(family) {
      const entry =
        entries.find((one) => one.family === family && one.users < PER_SOCKET) ?? create(family);
      entry.users += 1;
      try {
        await entry.ready;
      } catch (cause) {
        drop(entries, entry);
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
    async own({ family, port, address }, failed) {
      const socket = socketOf(family);
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
    count: () => entries.length,
    async close() {
      for (const socket of owned) socket.close();
      owned.clear();
      await Promise.all(
        entries.splice(0).map(async ({ socket, ready }) => {
          await ready.catch(() => undefined);
          const closed = once(socket, "close");
          socket.close();
          await closed;
        }),
      );
    },
  };
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
    throw new MigrationError("N2I-E400", words, { cause });
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

function drop(entries: Entry[], entry: Entry): void {
  const at = entries.indexOf(entry);
  if (at >= 0) entries.splice(at, 1);
}
