import { hash } from "node:crypto";

/** Namespace of the port uuids. Never change it, or a new plan would not find loaded ports. */
const PORTS = Buffer.from("5f1d7a0e9b1c4e0f8c3a6d2b7e4f9a10", "hex");

let room = Buffer.concat([PORTS], 256);

/** Namespace and name. The buffer is reused by the next call. */
function nameBuffer(name: string): Buffer {
  const most = PORTS.length + name.length * 3; // UTF-8 needs at most three bytes for a UTF-16 unit
  if (most > room.length) room = Buffer.concat([PORTS], most);
  return room.subarray(0, PORTS.length + room.write(name, PORTS.length, "utf8"));
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** UUIDv5 of node uuid and MAC, so that a later plan finds the row. @source RFC 9562 5.5 */
export function portUuid(nodeUuid: string, mac: string): string {
  const hex = hash("sha1", nameBuffer(`${nodeUuid} ${mac}`));
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 0x3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
