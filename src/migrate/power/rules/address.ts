import type { JsonObject } from "../../../lib/json.ts";
import { show } from "../../../lib/text.ts";

/**
 * The reason why this cannot be a machine's address. Null if it can. A conductor passes the text
 * unchanged to ipmitool or ssh, so a typing error ("10.0.0.9 ", "10.0.0.9:623", "10.0.0.300") is
 * reported, not treated as a silent BMC.
 */
export function addressFault(text: string): string | null {
  const fault = formFault(text);
  return fault === null ? null : `${show(text)} ${fault}`;
}

/** A fast path for nearly every address: a unicast IPv4 address. */
const USUAL = /^(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}$/;

function formFault(text: string): string | null {
  if (USUAL.test(text)) return null;
  const four = ipv4(text);
  if (four !== null) return isNobodys4(four) ? NOBODYS : null;
  if (text.trim() !== text) return "starts or ends with a space";
  if (/[,;\s]/.test(text)) return "is a list, or contains a space";
  if (/[^\x21-\x7e]/.test(text)) return "contains a character that is not allowed in an address";
  if (text.startsWith("-")) return "begins with a dash, so a program reads it as an option";
  if (/[[\]]/.test(text)) return "is in brackets";
  if (text.includes("/")) return "is a URL or a network";
  const [bare = "", zone, ...more] = text.split("%");
  if (isIpv6(bare) && zone !== "" && more.length === 0)
    return /^(?:[0:]+$|ff)/i.test(bare) ? NOBODYS : null;
  if (/^(null|none|nil|undefined)$/i.test(text)) return "is a placeholder for a missing address";
  if (/^[^:]+:\d*$/.test(text)) return "contains a port";
  if (text.includes(":")) return "is not an IPv6 address";
  return nameFault(text);
}

const ADDRESS = /^(ipmi|iboot|snmp|redfish|ilo|drac|irmc|amt)_(address|host)$/;
/** Parts that distinguish machines at one address, such as an outlet or a bridged channel. */
const PART =
  /^(ipmi|iboot|snmp|redfish|ilo|drac|irmc)_(port|relay_id|outlet|system_id|.*_(channel|address))$/;
/** Defaults of the drivers. @source ironic/drivers/modules/{ipmitool,iboot,snmp}.py */
const USUALLY = ["ipmi_port 623", "iboot_port 9100", "iboot_relay_id 1", "snmp_port 161"];

/** The same text for every spelling of one BMC or outlet. Null if driver_info has none. */
export function powerAddress(info: JsonObject): string | null {
  const keys = Object.keys(info).filter((key) => key !== "ipmi_local_address");
  if (!keys.some((key) => ADDRESS.test(key))) return null;
  return keys
    .filter((key) => ADDRESS.test(key) || PART.test(key))
    .map((key) => `${key} ${ADDRESS.test(key) ? plain(String(info[key])) : String(info[key])}`)
    .filter((text) => !USUALLY.includes(text))
    .toSorted()
    .join();
}

/** The normalized address, or host and port of a URL. */
function plain(text: string): string {
  if (USUAL.test(text)) return text;
  const [bare = "", ...zone] = text.trim().toLowerCase().split("%");
  const url = bare.includes("://") ? bare : `https://${isIpv6(bare) ? `[${bare}]` : bare}`;
  const host = URL.canParse(url) ? new URL(url).host : bare;
  return [host.replace(/\.$/, ""), ...zone].join("%");
}

const NOBODYS = "is not the address of a single machine: unspecified, broadcast or multicast";

/** The four numbers. Null for other texts. Some programs read a leading zero as octal. */
function ipv4(text: string): readonly number[] | null {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) return null;
  const four = text.split(".").map(Number);
  return four.every((part) => part <= 255) ? four : null;
}

function isNobodys4(four: readonly number[]): boolean {
  const [first = 0] = four;
  return first === 0 || (first >= 224 && first <= 239) || four.every((part) => part === 255);
}

function isIpv6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]`);
}

/** RFC 1123, and the underscore that some sites use. @source ironic 3abaa3a2d, 2025-10 */
function nameFault(text: string): string | null {
  const labels = text.replace(/\.$/, "").split(".");
  // Programs read these as octal, hexadecimal or short addresses.
  if (/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "")) return "is not an IPv4 address";
  const valid = (label: string): boolean => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label);
  return text.length <= 253 && labels.every(valid) ? null : "is neither an address nor a host name";
}
