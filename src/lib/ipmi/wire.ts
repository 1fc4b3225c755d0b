import type { Command } from "./commands.ts";

/** Version 6, reserved, no acknowledgement, class IPMI. @source facts/ipmi.md 2.1 */
export const RMCP = Buffer.from([0x06, 0x00, 0xff, 0x07]);

/** No answer is longer. Longer datagrams are ignored. */
const LONGEST = 1024;

/** authType of a 2.0 packet. 0 to 5 are 1.5. */
const AUTH_RMCPPLUS = 0x06;

/**
 * authType of an IPMI datagram. Null for another class (ASF), an acknowledgement, and a truncated
 * or too long datagram. The sequence byte is ignored.
 */
function authTypeOf(datagram: Buffer): number | null {
  if (datagram.length < 5 || datagram.length > LONGEST) return null;
  if (datagram[0] !== RMCP[0] || datagram[3] !== RMCP[3]) return null;
  return datagram[4] ?? null;
}

/** RMCP 4, authType 1, sequence 4, session 4, length 1. */
const HEADER_15 = 14;

/** A message outside a session in the 1.5 form. @source facts/ipmi.md 2.4 */
export function wrap15(message: Uint8Array): Buffer {
  const datagram = Buffer.alloc(HEADER_15 + message.length);
  datagram.set(RMCP);
  datagram[HEADER_15 - 1] = message.length;
  datagram.set(message, HEADER_15);
  return datagram;
}

/** The message of a 1.5 packet outside a session. Bytes after it are legacy padding. */
export function unwrap15(datagram: Buffer): Buffer | null {
  if (authTypeOf(datagram) !== 0 || datagram.length < HEADER_15) return null;
  if (datagram.readUInt32LE(9) !== 0) return null;
  const end = HEADER_15 + datagram.readUInt8(HEADER_15 - 1);
  return datagram.length < end ? null : datagram.subarray(HEADER_15, end);
}

/** @source facts/ipmi.md 2.5 */
export const PAYLOAD = {
  ipmi: 0x00,
  openRequest: 0x10,
  openResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const;

export type Packet = NonNullable<ReturnType<typeof parsePacket>>;

/** RMCP 4, authType 1, payload type 1, session 4, sequence 4, length 2. */
export const HEADER = 16;
const OEM_EXPLICIT = 0x02;
export const SIGNED = 0x40;
export const ENCRYPTED = 0x80;

/** A packet without signature and encryption. Outside sessions, `session` and `sequence` are 0. */
export function plain(type: number, payload: Uint8Array, session = 0, sequence = 0): Buffer {
  const packet = Buffer.alloc(HEADER + payload.length);
  putHeader(packet, type, payload.length, session, sequence);
  packet.set(payload, HEADER);
  return packet;
}

/** @param type with its two flags */
export function putHeader(
  packet: Buffer,
  type: number,
  length: number,
  session: number,
  sequence: number,
): void {
  packet.set(RMCP);
  packet[4] = AUTH_RMCPPLUS;
  packet[5] = type;
  packet.writeUInt32LE(session, 6);
  packet.writeUInt32LE(sequence, 10);
  packet.writeUInt16LE(length, 14);
}

/** Whether a datagram is a complete 2.0 packet of a supported type. */
function isPacket(datagram: Buffer): boolean {
  if (authTypeOf(datagram) !== AUTH_RMCPPLUS || datagram.length < HEADER) return false;
  const type = datagram.readUInt8(5) & 0x3f;
  return type !== OEM_EXPLICIT && datagram.length >= HEADER + datagram.readUInt16LE(14);
}

/** Null if it is not a 2.0 packet. Nothing is verified yet. */
export function parsePacket(datagram: Buffer) {
  if (!isPacket(datagram)) return null;
  const kind = datagram.readUInt8(5);
  const length = datagram.readUInt16LE(14);
  return {
    /** Payload type without its two flags. */
    type: kind & 0x3f,
    signed: (kind & SIGNED) !== 0,
    encrypted: (kind & ENCRYPTED) !== 0,
    session: datagram.readUInt32LE(6),
    payload: datagram.subarray(HEADER, HEADER + length),
    /** From authType to the trailer: the signed part. */
    body: datagram.subarray(RMCP.length),
  };
}

const NAMES_SESSION: readonly number[] = [PAYLOAD.openResponse, PAYLOAD.rakp2, PAYLOAD.rakp4];

/**
 * Our session id in a datagram: in its header within a session, in the payload during a login. Null
 * outside sessions and for truncated refusals, which only their sender identifies.
 */
export function sessionIdOf(datagram: Buffer): number | null {
  if (!isPacket(datagram)) return null;
  const session = datagram.readUInt32LE(6);
  if (session !== 0) return session;
  const type = datagram.readUInt8(5) & 0x3f;
  const long = datagram.readUInt16LE(14) >= 8;
  const sessionId = long && NAMES_SESSION.includes(type) ? datagram.readUInt32LE(HEADER + 4) : 0;
  return sessionId === 0 ? null : sessionId;
}

export type Response = NonNullable<ReturnType<typeof parseResponse>>;

const BMC = 0x20;
const CONSOLE = 0x81;

/** Two's complement of the sum of `bytes` from `start` to before `end`. */
export function checksum(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let sum = 0;
  for (let at = start; at < end; at++) sum += bytes[at] ?? 0;
  return -sum & 0xff;
}

/** @param rqSeq 0 to 63 @source facts/ipmi.md 2.3 */
export function request(
  command: Command,
  rqSeq: number,
  data: { readonly length: number; readonly [at: number]: number },
): Buffer {
  const end = 6 + data.length;
  const message = Buffer.alloc(end + 1);
  message[0] = BMC;
  message[1] = command.netFn << 2;
  message[2] = checksum(message, 0, 2);
  message[3] = CONSOLE;
  message[4] = (rqSeq & 0x3f) << 2;
  message[5] = command.cmd;
  for (let at = 0; at < data.length; at++) message[6 + at] = data[at] ?? 0;
  message[end] = checksum(message, 3, end);
  return message;
}

/** Null if it is too short or not a response. Wrong checksums are reported, not refused. */
export function parseResponse(message: Buffer) {
  if (message.length < 8) return null;
  const netFn = message.readUInt8(1) >> 2;
  if (netFn % 2 === 0) return null;
  return {
    /** The request's netFn plus one. */
    netFn,
    cmd: message.readUInt8(5),
    rqSeq: message.readUInt8(4) >> 2,
    /** Completion code. 0 is success. */
    code: message.readUInt8(6),
    data: message.subarray(7, -1),
    /** False on some boards that otherwise work. */
    checksumsGood: checksum(message, 0, 3) === 0 && checksum(message, 3) === 0,
  };
}

export function answers(response: Response, command: Command, rqSeq: number): boolean {
  return (
    response.netFn === command.netFn + 1 &&
    response.cmd === command.cmd &&
    response.rqSeq === (rqSeq & 0x3f)
  );
}
