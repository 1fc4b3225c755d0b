import { HEADER, isPacket, PAYLOAD } from "./rmcpplus.ts";

const NAMES_SESSION: readonly number[] = [PAYLOAD.openResponse, PAYLOAD.rakp2, PAYLOAD.rakp4];

/**
 * The number of ours that a datagram names: in its header within a session, in the payload while
 * one is opened. Null for messages outside sessions and for refusals cut short, which only their
 * sender tells apart.
 */
export function sessionNamed(datagram: Buffer): number | null {
  if (!isPacket(datagram)) return null;
  const session = datagram.readUInt32LE(6);
  if (session !== 0) return session;
  const type = datagram.readUInt8(5) & 0x3f;
  const long = datagram.readUInt16LE(14) >= 8;
  const named = long && NAMES_SESSION.includes(type) ? datagram.readUInt32LE(HEADER + 4) : 0;
  return named === 0 ? null : named;
}
