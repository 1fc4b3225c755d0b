import { lookup } from "node:dns/promises";
import { BlockList, isIP, SocketAddress } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Limits } from "./talk.ts";

export interface Endpoint {
  readonly family: 4 | 6;
  /** Normalised, so that two spellings of one address are equal. */
  readonly address: string;
  readonly port: number;
}

/** UDP port of a BMC. @source facts/ipmi.md 2 */
export const IPMI_PORT = 623;

/**
 * Resolves an address or a name. Null if the name is unknown, and at the deadline, because a resolver
 * may take minutes and has no abort.
 * @throws the signal's reason
 */
export async function endpointOf(
  host: string,
  port: number,
  { deadline, signal }: Limits,
): Promise<Endpoint | null> {
  const at = endpointAt(host, port);
  if (at !== null) return at;
  const late = sleep(deadline, null, { signal, ref: false });
  const found = lookup(host)
    .then(({ address }) => endpointAt(address, port))
    // Any error means that the name is unknown now. An empty name has a null address.
    .catch(() => null);
  return Promise.race([found, late]);
}

/** Unspecified, broadcast and multicast addresses. A reply would not identify a single machine. */
const NO_UNICAST = new BlockList();
NO_UNICAST.addSubnet("0.0.0.0", 8, "ipv4");
NO_UNICAST.addSubnet("224.0.0.0", 4, "ipv4");
NO_UNICAST.addAddress("255.255.255.255", "ipv4");
NO_UNICAST.addAddress("::", "ipv6");
NO_UNICAST.addSubnet("ff00::", 8, "ipv6");

/** Why nothing is sent to this address. Null for a usable address and for any name. */
export function unusableAddress(host: string): string | null {
  const at = endpointAt(host, IPMI_PORT);
  if (at === null) return null;
  const [bare = ""] = at.address.split("%", 1);
  return NO_UNICAST.check(bare, at.family === 4 ? "ipv4" : "ipv6") ? NOT_ONE : null;
}

const NOT_ONE = "not the address of a single machine, but unspecified, broadcast or multicast";

export function endpointKey({ address, port }: Pick<Endpoint, "address" | "port">): string {
  return `${address}|${port}`;
}

/**
 * In the form of a datagram's sender: `FE80:0::1%eth0` is `fe80::1%eth0`. Null for a host name.
 */
function endpointAt(text: string, port: number): Endpoint | null {
  const [bare = "", zone] = text.split("%", 2);
  const family = isIP(bare);
  if (family === 4) return { family, address: bare, port };
  if (family !== 6) return null;
  const { address } = new SocketAddress({ address: bare, family: "ipv6" });
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined) return { family: 4, address: mapped, port };
  // Only link-local addresses need a zone. Other senders have none.
  const zoned = zone !== undefined && /^fe[89ab]/.test(address);
  return { family, address: zoned ? `${address}%${interfaceOf(zone)}` : address, port };
}

/** Name of an interface given by number, as in `fe80::1%2`. */
function interfaceOf(zone: string): string {
  const all = Object.entries(networkInterfaces());
  const found = all.find(([, addresses]) =>
    addresses?.some((one) => one.family === "IPv6" && String(one.scopeid) === zone),
  );
  return found?.[0] ?? zone;
}
