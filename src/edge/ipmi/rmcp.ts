/** Version 6, reserved, no acknowledgement wanted, class IPMI. @source facts/ipmi.md 2.1 */
export const RMCP = Buffer.from([0x06, 0x00, 0xff, 0x07]);

/** Longer datagrams are no answer to anything we ask, and are not looked at. */
const LONGEST = 1024;

/** authType of a 2.0 packet; 0 to 5 are of 1.5. */
export const AUTH_RMCPPLUS = 0x06;

/**
 * authType of an IPMI datagram, or null when it is none: another class (ASF), an acknowledgement,
 * cut off, or longer than any answer. The sequence byte is not looked at.
 */
export function authTypeOf(datagram: Buffer): number | null {
  if (datagram.length < 5 || datagram.length > LONGEST) return null;
  if (datagram[0] !== RMCP[0] || datagram[3] !== RMCP[3]) return null;
  return datagram[4] ?? null;
}
