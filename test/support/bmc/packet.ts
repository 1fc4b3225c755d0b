/** One datagram that came in. Nothing about its codes is checked yet. */
export type SimPacket =
  | { readonly kind: "ping"; readonly tag: number }
  | { readonly kind: "1.5"; readonly message: Buffer }
  | {
      readonly kind: "2.0";
      /** 00 IPMI, 10 Open Session, 12 RAKP1, 14 RAKP3. */
      readonly type: number;
      readonly authenticated: boolean;
      readonly encrypted: boolean;
      readonly session: number;
      readonly sequence: number;
      readonly payload: Buffer;
      /** From the authentication type to the end of the datagram: what the code is over, and it. */
      readonly whole: Buffer;
    };

const RMCP = [0x06, 0x00, 0xff, 0x07] as const;

/** Null when a BMC would drop it without a word. */
export function readPacket(datagram: Buffer): SimPacket | null {
  if (datagram[0] !== 6) return null;
  if (datagram[3] === 6) return readPing(datagram);
  if (datagram.length < 14 || datagram[2] !== 0xff || datagram[3] !== 7) return null;
  return datagram[4] === 6 ? read20(datagram) : read15(datagram);
}

/** A packet of the 2.0 format without a session, or of one without integrity. */
export function plain20(type: number, payload: Buffer, session = 0, sequence = 0): Buffer {
  return Buffer.concat([header20(type, payload.length, session, sequence), payload]);
}

/** RMCP and session header of the 2.0 format, 16 bytes. @param type with its bits 6 and 7 */
export function header20(type: number, length: number, session: number, sequence: number): Buffer {
  const header = Buffer.from([...RMCP, 6, type, ...new Array<number>(10).fill(0)]);
  header.writeUInt32LE(session, 6);
  header.writeUInt32LE(sequence, 10);
  header.writeUInt16LE(length, 14);
  return header;
}

/** A packet of the 1.5 format without a session. */
export function packet15(message: Buffer): Buffer {
  const header = Buffer.from([...RMCP, ...new Array<number>(9).fill(0)]);
  return Buffer.concat([header, Buffer.from([message.length]), message]);
}

/** The answer to a presence ping: IPMI is spoken here. */
export function pong(tag: number): Buffer {
  const start = [0x06, 0x00, 0xff, 0x06, 0x00, 0x00, 0x11, 0xbe, 0x40, tag, 0x00, 0x10];
  return Buffer.from([...start, 0, 0, 0x11, 0xbe, 0, 0, 0, 0, 0x81, 0, 0, 0, 0, 0, 0, 0]);
}

function readPing(datagram: Buffer): SimPacket | null {
  const tag = datagram[9];
  if (tag === undefined || datagram.readUInt32BE(4) !== 0x11be || datagram[8] !== 0x80) return null;
  return { kind: "ping", tag };
}

function read20(datagram: Buffer): SimPacket | null {
  if (datagram.length < 16) return null;
  const type = datagram.readUInt8(5);
  const end = 16 + datagram.readUInt16LE(14);
  if (end > datagram.length) return null;
  return {
    kind: "2.0",
    type: type & 0x3f,
    authenticated: (type & 0x40) !== 0,
    encrypted: (type & 0x80) !== 0,
    session: datagram.readUInt32LE(6),
    sequence: datagram.readUInt32LE(10),
    payload: datagram.subarray(16, end),
    whole: datagram.subarray(4),
  };
}

/** Null of one in a session. */
function read15(datagram: Buffer): SimPacket | null {
  const length = datagram.readUInt8(13);
  if (datagram.subarray(4, 13).some((byte) => byte !== 0) || 14 + length > datagram.length)
    return null;
  return { kind: "1.5", message: datagram.subarray(14, 14 + length) };
}

/** A request to the BMC, out of whichever packet it came in. */
export interface SimRequest {
  readonly netFn: number;
  readonly command: number;
  readonly data: Buffer;
  /** The first bytes as they came: an answer mirrors addresses, LUNs and sequence. */
  readonly head: Buffer;
}

/** What a command answers: completion code and data. Null: not a word. */
export type SimAnswer = readonly [code: number, ...data: readonly number[]] | null;

/** Null when it is too short, not from a console to a BMC, or a checksum is wrong: a BMC drops it. */
export function readRequest(message: Buffer): SimRequest | null {
  if (message.length < 7 || message[0] !== 0x20 || message[3] !== 0x81) return null;
  if (sum(message.subarray(0, 3)) !== 0 || sum(message.subarray(3)) !== 0) return null;
  const head = message.subarray(0, 6);
  return {
    netFn: head.readUInt8(1) >> 2,
    command: head.readUInt8(5),
    data: message.subarray(6, -1),
    head,
  };
}

/** @param wrong makes both checksums wrong */
export function writeAnswer(
  { head, netFn }: SimRequest,
  [code, ...data]: NonNullable<SimAnswer>,
  wrong = false,
): Buffer {
  const requester = head.readUInt8(3);
  const theirLun = head.readUInt8(4) & 3;
  const ourLun = head.readUInt8(1) & 3;
  const first = [requester, ((netFn + 1) << 2) | theirLun];
  const sequence = (head.readUInt8(4) & 0xfc) | ourLun;
  const rest = [head.readUInt8(0), sequence, head.readUInt8(5), code, ...data];
  return Buffer.from([
    ...first,
    checksum(first) ^ (wrong ? 0x55 : 0),
    ...rest,
    checksum(rest) ^ (wrong ? 0x55 : 0),
  ]);
}

function checksum(bytes: readonly number[]): number {
  return -bytes.reduce((total, byte) => total + byte, 0) & 0xff;
}

function sum(bytes: Buffer): number {
  return bytes.reduce((total, byte) => total + byte, 0) & 0xff;
}
