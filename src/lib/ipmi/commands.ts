/**
 * All commands of this library. None changes the power state. `parse` reads the fields after the
 * completion code.
 * @source facts/ipmi.md 2.8
 */
export const COMMANDS = {
  capabilities: {
    ...{ name: "Get Channel Authentication Capabilities", netFn: 6, cmd: 0x38 },
    parse: parseCapabilities,
  },
  suites: { name: "Get Channel Cipher Suites", netFn: 6, cmd: 0x54, parse: parseSuites },
  privilege: { name: "Set Session Privilege Level", netFn: 6, cmd: 0x3b },
  device: { name: "Get Device ID", netFn: 6, cmd: 0x01, parse: parseDevice },
  chassis: { name: "Get Chassis Status", netFn: 0, cmd: 0x01, parse: parseChassis },
  close: { name: "Close Session", netFn: 6, cmd: 0x3c },
} as const;

/** Only commands of the table can be sent. */
export type Command = (typeof COMMANDS)[keyof typeof COMMANDS];

export type Capabilities = NonNullable<ReturnType<typeof COMMANDS.capabilities.parse>>;

/** Null if truncated. */
function parseCapabilities(data: Buffer) {
  if (data.length < 4) return null;
  const [types, status] = [data.readUInt8(1), data.readUInt8(2)];
  // As ipmitool: this bit decides, not the version bit after it.
  const ipmi2 = (types & 0x80) !== 0;
  return {
    ipmi2,
    /** Null if the BMC does not support 2.0. */
    kg: ipmi2 ? (status & 0x20) !== 0 : null,
    /** Anonymous login or users without a name are enabled. */
    nullUsers: (status & 0x03) !== 0,
  };
}

/**
 * Suite numbers of a list, as far as it is readable. A record is C0 and the number, or C1, the
 * number and a vendor's three bytes. The algorithms that follow are below C0.
 */
function parseSuites(list: Buffer): readonly number[] {
  const ids = new Set<number>();
  for (let at = 0; at + 1 < list.length; at++) {
    const start = list.readUInt8(at);
    if (start !== 0xc0 && start !== 0xc1) continue;
    // Vendor suites have their own numbers.
    if (start === 0xc0) ids.add(list.readUInt8(at + 1));
    at += start === 0xc0 ? 1 : 4;
  }
  return [...ids].toSorted((one, other) => one - other);
}

export type Device = NonNullable<ReturnType<typeof COMMANDS.device.parse>>;

/** Null if it lacks mandatory fields. */
function parseDevice(data: Buffer) {
  if (data.length < 6) return null;
  const [major, minor] = [data.readUInt8(2), data.readUInt8(3)];
  return {
    /** Product number. */
    device: data.length >= 11 ? data.readUInt16LE(9) : null,
    /** IANA enterprise number. */
    manufacturer: data.length >= 9 ? data.readUIntLE(6, 3) & 0xfffff : null,
    firmware: `${major & 0x7f}.${minor.toString(16).padStart(2, "0")}`,
    updating: (major & 0x80) !== 0,
  };
}

export type Chassis = NonNullable<ReturnType<typeof COMMANDS.chassis.parse>>;

/** As in ipmitool, only bit 0 of the first byte is the power state. */
function parseChassis(data: Buffer) {
  if (data.length < 1) return null;
  const state = data.readUInt8(0);
  const power: "on" | "off" = (state & 1) === 1 ? "on" : "off";
  return {
    power,
    /** Overload, interlock, fault or control fault. */
    fault: (state & 0x1e) !== 0,
  };
}

/** @source facts/ipmi.md 2.8 */
const CODES: { readonly [code: number]: string } = {
  128: "level not available for this user",
  129: "level above the user's or channel's limit",
  192: "node busy",
  193: "unknown command",
  195: "timeout",
  196: "out of space",
  209: "firmware update in progress",
  210: "BMC initialisation in progress",
  211: "destination unavailable",
  212: "insufficient privilege",
  255: "unspecified error",
};

/** The codes that Ironic retries, to retry in the same session after a pause. */
export function isTryAgain(code: number): boolean {
  return [0xc0, 0xc3, 0xc4, 0xd2].includes(code);
}

/** Temporary codes: the above, a firmware update, and an unreachable destination. */
export function isBusy(code: number): boolean {
  return isTryAgain(code) || code === 0xd1 || code === 0xd3;
}

/** A late answer to a resend. The expected answer may follow. */
export const DUPLICATE = 0xcf;

/** Set Session Privilege Level: not allowed for the user, above its limit. Any command: D4. */
export function isLevelRefused(code: number): boolean {
  return code === 0x80 || code === 0x81 || code === 0xd4;
}

/** `0xc0: node busy` */
export function codeText(code: number): string {
  const text = CODES[code];
  return text === undefined ? hex(code) : `${hex(code)}: ${text}`;
}

export function hex(value: number): string {
  return `0x${value.toString(16).padStart(2, "0")}`;
}
