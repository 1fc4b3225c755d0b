import type { Json } from "../../lib/json.ts";
import { show } from "../../lib/text.ts";
import type { FindingCode } from "../../model/findings.ts";
import { isSealed } from "../../model/secret.ts";

/** A finding about a value: its code and message. */
export type Warning = readonly [FindingCode, string];

/** The result of a converter: a value, null (to try the next source), or a fault. */
export type Converted =
  | { readonly value: Json; readonly warnings?: readonly Warning[] }
  | { readonly fault: string }
  | null;

/** iBoot's pm_address: `host[:port][,relay]`. @source facts/nova-bm.md 3.2 */
function iboot(part: "host" | "port" | "relay"): (value: Json) => Converted {
  return (value) => {
    const match = /^([^,:]+)(?::([^,]*))?(?:,(.*))?$/.exec(String(value));
    if (match === null) return { fault: "is not host[:port][,relay]" };
    const [, host = "", port = "9100", relay = "1"] = match;
    if (part === "host") return trimmed(host);
    const text = (part === "port" ? port : relay).trim();
    if (part === "port" ? isPort(text) : /^\d{1,5}$/.test(text)) return { value: Number(text) };
    const violation = part === "port" ? "is not from 1 to 65535" : "is not a number";
    return { fault: `has the ${part} ${JSON.stringify(text)}, which ${violation}` };
  };
}

export function isPort(value: unknown): boolean {
  return /^\d{1,5}$/.test(String(value)) && Number(value) > 0 && Number(value) < 65_536;
}

/** Removes blanks that the resolvers of nova-baremetal's time ignored. Null if it is empty. */
function trimmed(value: Json): Converted {
  if (typeof value !== "string") return { value };
  const bare = value.trim();
  if (bare === "") return null;
  if (bare === value) return { value };
  return { value: bare, warnings: [["N2I-D312", `${show(value)} is loaded as ${show(bare)}`]] };
}

/** @source nova 2014.2:nova/compute/arch.py ALL, and the other names that canonicalize accepts */
const ARCHITECTURES = new Set(
  (
    "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel mips64 mips64el " +
    "openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 " +
    "xtensa xtensaeb i386 i486 i586 amd64"
  ).split(" "),
);

/** Operators of extra specs. @source nova 2014.2:nova/scheduler/filters/extra_specs_ops.py */
export const OPERATOR = /^(=|==|!=|>=|<=|s==|s!=|s<|s<=|s>|s>=|<in>|<all-in>|<or>)(\s|$)/;

/** The architecture that a flavor requires by `cpu_arch`. Only the operator `s==` names one. */
export function flavorArch(spec: string | null | undefined): string | undefined {
  const value = /^s==\s+(\S+)/.exec(spec ?? "")?.[1] ?? spec;
  return !value || OPERATOR.test(value) ? undefined : value;
}

/** Keeps the value, because Nova compares flavors with it. Unknown values do not block the load. */
function arch(value: Json): Converted {
  const text = String(value);
  if (ARCHITECTURES.has(text.toLowerCase())) return { value };
  return { value, warnings: [["N2I-D307", `${show(text)} is not a known Nova architecture`]] };
}

/** Values that Ironic accepts. @source ironic 21.4:ironic/drivers/modules/deploy_utils.py */
const CAPABILITIES: { readonly [name: string]: readonly string[] } = {
  boot_mode: ["bios", "uefi"],
  boot_option: ["local", "netboot", "ramdisk", "kickstart"],
  disk_label: ["gpt", "msdos"],
  secure_boot: ["false", "true"],
  trusted_boot: ["false", "true"],
};

/**
 * The pairs of `k1:v1,k2:v2` that Ironic and Nova read, or an empty text if there are none.
 * @source facts/ironic.md 3.3; nova 2014.2:nova/virt/ironic/driver.py _node_resource
 */
function capabilities(value: Json): Converted {
  if (value === "") return null;
  const warnings: Warning[] = [];
  const pairs = String(value)
    .split(",")
    .flatMap((pair) => {
      const fault = capabilityFault(pair);
      if (fault === null) return [pair];
      // Ironic refuses UEFI in upper case. Without a mode, a machine may boot in the wrong mode.
      const lower = pair.replace(/:.*/, (match) => match.toLowerCase());
      const isRead = capabilityFault(lower) === null;
      warnings.push([
        "N2I-D313",
        `${show(pair)} ${isRead ? `is loaded as ${show(lower)}` : fault}`,
      ]);
      return isRead ? [lower] : [];
    });
  return warnings.length === 0 ? { value } : { value: pairs.join(","), warnings };
}

function capabilityFault(pair: string): string | null {
  const [key = "", value = "", ...more] = pair.split(":").map((part) => part.trim());
  if (key === "" || value === "" || more.length > 0) return "is not of the form key:value";
  if (!/^[\x20-\x7e]+$/.test(key + value)) return "is not ASCII";
  const values = Object.hasOwn(CAPABILITIES, key) ? CAPABILITIES[key] : undefined;
  return values === undefined || values.includes(value)
    ? null
    : `is not one of ${values.join(", ")}`;
}

/** @source ironic 7.0.0:ironic/drivers/modules/ssh.py _get_command_sets */
const VIRT_TYPES = ["parallels", "vbox", "virsh", "vmware", "xenserver"];

function virtType(value: Json): Converted {
  if (value === "") return null;
  return VIRT_TYPES.includes(String(value))
    ? { value }
    : { fault: `${show(String(value))} is not one of ${VIRT_TYPES.join(", ")}` };
}

/** Converters that also apply to values of the site document. */
export const CHECKS: ReadonlySet<string> = new Set([
  "trimmed",
  "arch",
  "capabilities",
  "virt_type",
]);

/** Every converter for rules. A new one also needs an entry in rules.schema.json. */
export const CONVERTERS: { readonly [name: string]: (value: Json) => Converted } = {
  lower: (value) => ({ value: typeof value === "string" ? value.toLowerCase() : value }),
  text: (value) => ({ value: String(value) }),
  /** Ironic's DATETIME has whole seconds on MySQL, so all engines use them. */
  seconds: (value) => ({ value: String(value).slice(0, 19).replace("T", " ") }),
  unless_empty: (value) =>
    value === "" || (isSealed(value) && value.empty === true) ? null : { value },
  /** A TCP port. Other values are skipped, and have their own finding. */
  port: (value) => (isPort(value) ? { value: Number(value) } : null),
  unless_zero: (value) => (value === 0 || value === "0" || value === "" ? null : { value }),
  /** Rounds up to GiB, because Ironic refuses a root that is too small. */
  gb_of_mb: (value) =>
    typeof value === "number" && value > 0 ? { value: Math.ceil(value / 1024) } : null,
  /** nova-baremetal created swap of at least 1 MiB, so 1 means "no swap". */
  flavor_swap: (value) => (typeof value === "number" ? { value: value <= 1 ? 0 : value } : null),
  trimmed,
  arch,
  capabilities,
  virt_type: virtType,
  iboot_host: iboot("host"),
  iboot_port: iboot("port"),
  iboot_relay: iboot("relay"),
};
