import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const SPARE_FILES = 64;

/** A UDP socket bound to this address. IPv6 when the address is. */
export async function bound(address: string, port: number): Promise<Socket> {
  const type = address.includes(":") ? "udp6" : "udp4";
  const socket = createSocket({ type, lookup: literal });
  // Asked for before it binds, which with this lookup is at once.
  const listening = once(socket, "listening");
  socket.bind({ address, port, exclusive: true });
  await listening;
  // A peer that has gone makes no error here; nothing else is worth ending the farm for.
  socket.on("error", () => {});
  return socket;
}

/** @throws Error when this process may not open so many sockets: how to raise the limit */
export function needsFiles(count: number): void {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  if (count + SPARE_FILES > limit)
    throw new Error(
      `${count} BMCs need as many sockets, and ${limit} files may be open: ulimit -n ${count + SPARE_FILES}`,
    );
}

/** Addresses here are never names: no resolver is asked, which 10,000 binds would feel. */
function literal(
  address: string,
  _options: unknown,
  done: (error: null, address: string, family: number) => void,
): void {
  done(null, address, address.includes(":") ? 6 : 4);
}
