import type { Json } from "../../model/json.ts";
import { isSealed } from "../../model/secret.ts";

/** What a converter gives: a value, nothing (the next source is tried), or why it cannot be read. */
type Converted = { readonly value: Json } | { readonly fault: string } | null;

/** iBoot's pm_address: `host[:port][,relay]`, split at the comma first. @source facts/nova-bm.md 3.2 */
function iboot(part: "host" | "port" | "relay"): (value: Json) => Converted {
  return (value) => {
    const match = /^([^,:]+)(?::([^,]*))?(?:,(.*))?$/.exec(String(value));
    if (match === null) return { fault: "is not host[:port][,relay]" };
    const [, host = "", port = "9100", relay = "1"] = match;
    if (part === "host") return { value: host.trim() };
    const text = (part === "port" ? port : relay).trim();
    return /^\d{1,5}$/.test(text)
      ? { value: Number(text) }
      : { fault: `has the ${part} ${JSON.stringify(text)}, which is no number` };
  };
}

export function isPort(value: unknown): boolean {
  return /^\d{1,5}$/.test(String(value)) && Number(value) > 0 && Number(value) < 65_536;
}

/** 1024 MiB are a GiB; a size between two is rounded up, since Ironic refuses a root too small. */
function gbOfMb(value: Json): Converted {
  return typeof value === "number" && value > 0 ? { value: Math.ceil(value / 1024) } : null;
}

/** Every converter a rule may name. A new one is a row here and a word in rules.schema.json. */
export const CONVERTERS: { readonly [name: string]: (value: Json) => Converted } = {
  lower: (value) => ({ value: typeof value === "string" ? value.toLowerCase() : value }),
  text: (value) => ({ value: String(value) }),
  /** Ironic's DATETIME has whole seconds on MySQL; the same on every engine. */
  seconds: (value) => ({ value: String(value).slice(0, 19).replace("T", " ") }),
  unless_empty: (value) =>
    value === "" || (isSealed(value) && value.empty === true) ? null : { value },
  /** A TCP port; what is none is left out, with a finding of its own. */
  port: (value) => (isPort(value) ? { value: Number(value) } : null),
  unless_zero: (value) => (value === 0 || value === "0" || value === "" ? null : { value }),
  gb_of_mb: gbOfMb,
  /** nova-baremetal made a swap partition of at least 1 MiB, so 1 stands for "no swap". */
  flavor_swap: (value) => (typeof value === "number" ? { value: value <= 1 ? 0 : value } : null),
  iboot_host: iboot("host"),
  iboot_port: iboot("port"),
  iboot_relay: iboot("relay"),
};
