/** A request to the BMC, out of whichever packet it came in. */
export interface Request {
  readonly netFn: number;
  readonly command: number;
  readonly data: Buffer;
  /** The first bytes as they came: an answer mirrors addresses, LUNs and sequence. */
  readonly head: Buffer;
}

/** What a command answers: completion code and data. Null: not a word. */
export type Answer = readonly [code: number, ...data: readonly number[]] | null;

/** Null when it is too short or a checksum is wrong: a BMC drops it. */
export function readRequest(message: Buffer): Request | null {
  if (message.length < 7) return null;
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
  { head, netFn }: Request,
  [code, ...data]: NonNullable<Answer>,
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
