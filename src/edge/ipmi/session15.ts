import { authTypeOf, RMCP } from "./rmcp.ts";

/** RMCP 4, authType 1, sequence 4, session 4, length 1. */
const HEADER = 14;

/** A message outside any session in IPMI 1.5's form. @source facts/ipmi.md 2.4 */
export function wrap15(message: Uint8Array): Buffer {
  const datagram = Buffer.alloc(HEADER + message.length);
  datagram.set(RMCP);
  datagram[HEADER - 1] = message.length;
  datagram.set(message, HEADER);
  return datagram;
}

/** The message of a 1.5 packet outside any session; bytes after it are legacy padding. */
export function unwrap15(datagram: Buffer): Buffer | null {
  if (authTypeOf(datagram) !== 0 || datagram.length < HEADER) return null;
  if (datagram.readUInt32LE(9) !== 0) return null;
  const length = datagram.readUInt8(HEADER - 1);
  return datagram.length < HEADER + length ? null : datagram.subarray(HEADER, HEADER + length);
}
