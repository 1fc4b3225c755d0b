/**
 * Every command this library can send. All of them read, or open and close a session; none switches
 * a machine, and nothing here can be made to send another one.
 *
 * @source facts/ipmi.md 2.8
 */
export const COMMANDS = {
  capabilities: { name: "Get Channel Authentication Capabilities", netFn: 6, cmd: 0x38 },
  suites: { name: "Get Channel Cipher Suites", netFn: 6, cmd: 0x54 },
  privilege: { name: "Set Session Privilege Level", netFn: 6, cmd: 0x3b },
  device: { name: "Get Device ID", netFn: 6, cmd: 0x01 },
  chassis: { name: "Get Chassis Status", netFn: 0, cmd: 0x01 },
  close: { name: "Close Session", netFn: 6, cmd: 0x3c },
} as const;

/** One of the table: there is no other way to name a command. */
export type Command = (typeof COMMANDS)[keyof typeof COMMANDS];

export interface Capabilities {
  readonly ipmi2: boolean;
  /** Null where the BMC does not speak 2.0. */
  readonly kg: boolean | null;
  /** Anonymous login or users without a name are on. */
  readonly nullUsers: boolean;
}

/** Fields after the completion code. Null when they are cut short. */
export function parseCapabilities(data: Buffer): Capabilities | null {
  if (data.length < 4) return null;
  const [types, status] = [data.readUInt8(1), data.readUInt8(2)];
  // As ipmitool, which goes by this bit and does not look at the one of the versions after it.
  const ipmi2 = (types & 0x80) !== 0;
  return { ipmi2, kg: ipmi2 ? (status & 0x20) !== 0 : null, nullUsers: (status & 0x03) !== 0 };
}

/** Bytes of the list of suites that fit into one answer; fewer end it. */
export const SUITES_CHUNK = 16;

/**
 * The suite numbers of a list; reads as far as it understands.
 *
 * A record begins with C0 and the number, or C1, the number and a vendor's three bytes; the
 * algorithms after it are below C0.
 */
export function parseSuites(list: Buffer): readonly number[] {
  const ids = new Set<number>();
  for (let at = 0; at + 1 < list.length; at++) {
    const start = list.readUInt8(at);
    if (start !== 0xc0 && start !== 0xc1) continue;
    // A vendor's own suite has its numbers for itself.
    if (start === 0xc0) ids.add(list.readUInt8(at + 1));
    at += start === 0xc0 ? 1 : 4;
  }
  return [...ids].toSorted((one, other) => one - other);
}

export interface Device {
  /** Product number. */
  readonly device: number | null;
  /** IANA enterprise number. */
  readonly manufacturer: number | null;
  readonly firmware: string;
  readonly updating: boolean;
}

/** Null when it is shorter than the fields every BMC has. */
export function parseDevice(data: Buffer): Device | null {
  if (data.length < 6) return null;
  const [major, minor] = [data.readUInt8(2), data.readUInt8(3)];
  return {
    device: data.length >= 11 ? data.readUInt16LE(9) : null,
    manufacturer: data.length >= 9 ? data.readUIntLE(6, 3) & 0xfffff : null,
    firmware: `${major & 0x7f}.${minor.toString(16).padStart(2, "0")}`,
    updating: (major & 0x80) !== 0,
  };
}

export interface Chassis {
  readonly power: "on" | "off";
  /** Overload, interlock, fault or control fault. */
  readonly fault: boolean;
}

/** Bit 0 of the first byte and nothing else is the power state, as ipmitool has it. */
export function parseChassis(data: Buffer): Chassis | null {
  if (data.length < 1) return null;
  const state = data.readUInt8(0);
  return { power: (state & 1) === 1 ? "on" : "off", fault: (state & 0x1e) !== 0 };
}

/** Completion codes in words. @source facts/ipmi.md 2.8 */
const CODES: { readonly [code: number]: string } = {
  128: "level not available for this user",
  129: "level above the user's or channel's limit",
  192: "node busy",
  193: "command not known",
  195: "timeout",
  196: "out of space",
  209: "firmware update in progress",
  210: "BMC initialisation in progress",
  211: "destination unavailable",
  212: "insufficient privilege",
  255: "unspecified error",
};

/** Asked again in the same session, after a pause: the four that Ironic retries. */
export function isTryAgain(code: number): boolean {
  return [0xc0, 0xc3, 0xc4, 0xd2].includes(code);
}

/** Not the BMC's last word: those, a firmware update, and what it cannot reach now. */
export function isBusy(code: number): boolean {
  return isTryAgain(code) || code === 0xd1 || code === 0xd3;
}

/** A late answer to a resend: what we wait for may still come. */
export const DUPLICATE = 0xcf;

/** Of Set Session Privilege Level: not for this user, above its limit; of any command: D4. */
export function isLevelRefused(code: number): boolean {
  return code === 0x80 || code === 0x81 || code === 0xd4;
}

/** `0xc0: node busy` */
export function codeWords(code: number): string {
  const words = CODES[code];
  return words === undefined ? hex(code) : `${hex(code)}: ${words}`;
}

export function hex(value: number): string {
  return `0x${value.toString(16).padStart(2, "0")}`;
}
