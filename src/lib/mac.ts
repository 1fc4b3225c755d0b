/**
 * A MAC as Ironic's API stores it: lower case, colons. Dashes, dots and bare hex are understood,
 * since Grizzly and Havana let any text in; null when it is no MAC.
 *
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

/** Why no network card has this normalised MAC; null where one may. */
export function noNic(mac: string): string | null {
  if (mac === "00:00:00:00:00:00") return "no address";
  return (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1 ? "a multicast address" : null;
}
