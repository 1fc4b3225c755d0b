import { PAYLOAD, parsePacket } from "./rmcpplus.ts";

const NAMES_SESSION: readonly number[] = [PAYLOAD.openResponse, PAYLOAD.rakp2, PAYLOAD.rakp4];

/**
 * The number of ours that a datagram names: in its header within a session, in the payload while
 * one is opened. Null for messages outside sessions and for refusals cut short, which only their
 * sender tells apart.
 */
export function sessionNamed(datagram: Buffer): number | null {
  const packet = parsePacket(datagram);
  if (packet === null) return null;
  const { session, type, payload } = packet;
  if (session !== 0) return session;
  const named = NAMES_SESSION.includes(type) && payload.length >= 8 ? payload.readUInt32LE(4) : 0;
  return named === 0 ? null : named;
}
