import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";

const NETS = 64 * 250;

/**
 * So many loopback addresses for port 623, of one /24. Until this process ends no other process gets an address of it:
 * the last address is bound, and a process that cannot bind it takes another /24.
 * @param count at most 250
 * @throws Error when this process may not bind port 623
 */
export async function freeAddresses(count: number): Promise<readonly string[]> {
  for (let tries = 0; tries < NETS; tries++) {
    const at = (process.pid + tries) % NETS;
    const net = `127.${32 + Math.floor(at / 250)}.${at % 250}`;
    const held = await bound(`${net}.254`, 623).catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return null;
      throw error;
    });
    held?.unref();
    if (held !== null) return Array.from({ length: count }, (_, one) => `${net}.${one + 1}`);
  }
  throw new Error("no /24 of loopback addresses is free at port 623");
}

const SPARE_FILES = 64;
const LIMITS = "/proc/self/limits";

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
  // Linux alone has it; elsewhere a socket that is too many says so when it is opened.
  if (!existsSync(LIMITS)) return;
  const limits = readFileSync(LIMITS, "utf8");
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
