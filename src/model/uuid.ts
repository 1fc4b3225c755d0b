import { hash } from "node:crypto";

/** Namespace of the port uuids this tool makes; fixed for ever, or a second plan would not compare. */
const PORTS = Buffer.from("5f1d7a0e9b1c4e0f8c3a6d2b7e4f9a10", "hex");

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
  const hex = hash("sha1", Buffer.concat([PORTS, Buffer.from(`${nodeUuid} ${mac}`, "utf8")]));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
