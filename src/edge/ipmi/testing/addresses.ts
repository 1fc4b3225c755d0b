import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";

/** The first addresses of 127.20.0.0/16, or another net, 250 a /24: for a big farm. */
export function bigFleet(count: number, net = 20): readonly string[] {
  return Array.from(
    { length: count },
    (_, at) => `127.${net}.${Math.floor(at / 250)}.${(at % 250) + 1}`,
  );
}

/**
 * So many loopback addresses on which nobody listens at this port, out of one random /24: tests run
 * beside each other, on one machine.
 *
 * @param count at most 250
 */
export async function freeAddresses(count: number, port = 623): Promise<readonly string[]> {
  for (let tries = 0; tries < 20; tries++) {
    const net = `127.${random(32, 96)}.${random(0, 250)}`;
    const addresses = Array.from({ length: count }, (_, at) => `${net}.${at + 1}`);
    const sockets = await Promise.allSettled(addresses.map((address) => bound(address, port)));
    for (const socket of sockets) if (socket.status === "fulfilled") socket.value.close();
    const refused = sockets.find((socket) => socket.status === "rejected");
    if (refused === undefined) return addresses;
    if (isForbidden(refused.reason)) throw refused.reason;
  }
  throw new Error(`no ${count} loopback addresses are free at port ${port}`);
}

/** A message for skipping a test that needs port 623; null when this process may bind it. */
export async function whyNot623(): Promise<string | null> {
  try {
    await freeAddresses(1);
    return null;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return "may not bind port 623: be root, or sysctl net.ipv4.ip_unprivileged_port_start=0";
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EACCES";
}

function random(from: number, to: number): number {
  return from + Math.floor(Math.random() * (to - from));
}

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
