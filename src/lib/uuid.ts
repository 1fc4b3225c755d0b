import { hash } from "node:crypto";

/** Namespace of the port uuids this tool makes; fixed for ever, or a second plan would not compare. */
const PORTS = Buffer.from("5f1d7a0e9b1c4e0f8c3a6d2b7e4f9a10", "hex");

let room = Buffer.concat([PORTS], 256);

/** The namespace and a name in it; good until the next one. */
function named(name: string): Buffer {
  const most = PORTS.length + name.length * 3; // UTF-8 takes at most three bytes a UTF-16 unit
  if (most > room.length) room = Buffer.concat([PORTS], most);
  return room.subarray(0, PORTS.length + room.write(name, PORTS.length, "utf8"));
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/**
 * The uuid of a port: UUIDv5 of its node's uuid and its MAC, so that a second plan finds the row
 * the first one made.
 *
 * @source RFC 9562 5.5
 */
export function portUuid(nodeUuid: string, mac: string): string {
  const hex = hash("sha1", named(`${nodeUuid} ${mac}`));
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 0x3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
