import { bound } from "./socket.ts";

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
