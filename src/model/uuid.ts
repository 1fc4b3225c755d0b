import { createHash } from "node:crypto";

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
  const digest = createHash("sha1").update(PORTS).update(`${nodeUuid} ${mac}`, "utf8").digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
