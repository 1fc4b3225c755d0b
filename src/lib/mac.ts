/**
 * A MAC address as Ironic's API stores it: lower case with colons. Also reads dashes, dots and bare
 * hex, because Grizzly and Havana accept any text. Null if it is not a MAC.
 * @source facts/nova-bm.md 1.7; facts/ironic.md 1.3
 */
export function normaliseMac(text: string): string | null {
  const lower = text.toLowerCase();
  if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(lower)) return lower;
  const hex = /^([0-9a-f]{2}-){5}[0-9a-f]{2}$|^([0-9a-f]{4}\.){2}[0-9a-f]{4}$|^[0-9a-f]{12}$/.test(
    lower,
  )
    ? lower.replaceAll(/[-.]/g, "")
    : null;
  return hex === null ? null : (hex.match(/../g)?.join(":") ?? null);
}

/** Why no NIC can have this normalised MAC, else null. */
export function noNic(mac: string): string | null {
  if (mac === "00:00:00:00:00:00") return "no address";
  return (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1 ? "a multicast address" : null;
}
