/** A command of the BMC: network function and number. */
export interface Command {
  readonly name: string;
  readonly netFn: number;
  readonly cmd: number;
}

export interface Response {
  /** Of the answer: the request's plus one. */
  readonly netFn: number;
  readonly cmd: number;
  /** 0 to 63. */
  readonly rqSeq: number;
  /** Completion code; 0 is done. */
  readonly code: number;
  readonly data: Buffer;
  /** False on some boards that are otherwise sound: see N2I-D627. */
  readonly checksumsGood: boolean;
}

const BMC = 0x20;
const CONSOLE = 0x81;

/**
 * Two's complement of the sum of `bytes` from `start` to before `end`: sum and checksum together
 * give 0.
 */
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

/** Null when it is too short or is no response. Wrong checksums are told, not refused. */
export function parseResponse(message: Buffer): Response | null {
  if (message.length < 8) return null;
  const netFn = message.readUInt8(1) >> 2;
  if (netFn % 2 === 0) return null;
  return {
    netFn,
    cmd: message.readUInt8(5),
    rqSeq: message.readUInt8(4) >> 2,
    code: message.readUInt8(6),
    data: message.subarray(7, -1),
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
