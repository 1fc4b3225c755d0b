import type { Command } from "./message.ts";

/** @source facts/ipmi.md 2.8 */
export const COMMANDS = {
  capabilities: { name: "Get Channel Authentication Capabilities", netFn: 6, cmd: 0x38 },
  suites: { name: "Get Channel Cipher Suites", netFn: 6, cmd: 0x54 },
  privilege: { name: "Set Session Privilege Level", netFn: 6, cmd: 0x3b },
  device: { name: "Get Device ID", netFn: 6, cmd: 0x01 },
  chassis: { name: "Get Chassis Status", netFn: 0, cmd: 0x01 },
  close: { name: "Close Session", netFn: 6, cmd: 0x3c },
} as const satisfies Record<string, Command>;

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
  const [types, status, versions] = [data.readUInt8(1), data.readUInt8(2), data.readUInt8(3)];
  const ipmi2 = (types & 0x80) !== 0 && (versions & 0x02) !== 0;
  return { ipmi2, kg: ipmi2 ? (status & 0x20) !== 0 : null, nullUsers: (status & 0x03) !== 0 };
}

/** Bytes of the list of suites that fit into one answer; fewer end it. */
export const SUITES_CHUNK = 16;

/** The channel comes first, then a piece of the list. */
export function suitesChunk(data: Buffer): Buffer {
  return data.subarray(1, 1 + SUITES_CHUNK);
}

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
