import { lookup } from "node:dns/promises";
import { isIP, SocketAddress } from "node:net";

export interface Endpoint {
  readonly family: 4 | 6;
  /** In one form only, so that two spellings of one address are equal. */
  readonly address: string;
  readonly port: number;
}

/** Where a BMC listens. @source facts/ipmi.md 2 */
export const IPMI_PORT = 623;

/** The endpoint behind an address or a name; null when the name is not known. */
export async function endpointOf(host: string, port: number): Promise<Endpoint | null> {
  const literal = asLiteral(host);
  if (literal !== null) return { ...literal, port };
  try {
    const { address } = await lookup(host);
    const found = asLiteral(address);
    return found === null ? null : { ...found, port };
  } catch {
    // Whatever the resolver says, the name leads nowhere now.
    return null;
  }
}

export function endpointKey({ address, port }: Pick<Endpoint, "address" | "port">): string {
  return `${address}|${port}`;
}

/** As the system writes the sender of a datagram: `FE80:0::1%eth0` is `fe80::1%eth0`. */
function asLiteral(text: string): Omit<Endpoint, "port"> | null {
  const [bare = "", zone] = text.split("%", 2);
  const family = isIP(bare);
  if (family === 4) return { family, address: bare };
  if (family !== 6) return null;
  const { address } = new SocketAddress({ address: bare, family: "ipv6" });
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined) return { family: 4, address: mapped };
  return { family, address: zone === undefined ? address : `${address}%${zone}` };
}
