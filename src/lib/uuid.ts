import { hash } from "node:crypto";

/** Namespace of the port uuids. Never change it, or a new plan would not find loaded ports. */
const PORTS = Buffer.from("5f1d7a0e9b1c4e0f8c3a6d2b7e4f9a10", "hex");

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** UUIDv5 of node uuid and MAC, so that a later plan finds the row. @source RFC 9562 5.5 */
export function portUuid(nodeUuid: string, mac: string): string {
  const hex = hash("sha1", Buffer.concat([PORTS, Buffer.from(`${nodeUuid} ${mac}`)]));
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 0x3];
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
