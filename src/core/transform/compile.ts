import type { FindingCode } from "../../model/findings.ts";
import type { Json } from "../../model/json.ts";
import { besideColumns, type Rule, type TargetDoc } from "../../model/mapping.ts";
import { isSealed } from "../../model/secret.ts";
import type { Column } from "../../model/tables.ts";
import { show } from "../../model/text.ts";
import { createShapes, type Shapes } from "./shapes.ts";

/** The places rules read from; an absent place reads as nothing. */
export type RuleSources = {
  readonly [place: string]: { readonly [field: string]: unknown } | null;
};

interface Alternative {
  readonly place: string;
  readonly field: string;
  readonly convert: readonly ((value: Json) => Converted)[];
  readonly origin: number;
}

/** A rule made ready: its path split, its sources parsed, its origins numbered. */
export interface CompiledRule {
  readonly path: readonly [string, ...string[]];
  readonly to: string;
  readonly alternatives: readonly Alternative[];
  /** What it gives where none of these gives anything. */
  readonly otherwise: Applied;
  readonly instanceOnly: boolean;
  readonly sparse: boolean;
  readonly missing: FindingCode | null;
}

/** Numbers the origins of fields, the same origin of the same field once. */
export type OriginTable = ReturnType<typeof createOrigins>;

export function createOrigins() {
  const known = new Map<string, number>();
  const table: (readonly [string, string])[] = [];
  return {
    number(field: string, origin: string): number {
      const key = `${field} ${origin}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      known.set(key, table.length);
      table.push([field, origin]);
      return table.length - 1;
    },
    table: (): readonly (readonly [string, string])[] => table,
  };
}

function resolve(to: string, keys: TargetDoc["keys"]): string | null {
  let gone = false;
  const text = to.replaceAll(/\$(\w+)/g, (_, key: string) => {
    const name = keys[key];
    gone ||= name === null || name === undefined;
    return name ?? "";
  });
  return gone ? null : text;
}

function alternative(text: string, rule: Rule, origin: number): Alternative {
  const [source = "", own] = text.split("|");
  const dot = source.indexOf(".");
  return {
    place: source.slice(0, dot),
    field: source.slice(dot + 1),
    // Checked when the document was parsed: every converter named exists.
    convert: convertersOf(own, rule.as),
    origin,
  };
}

function convertersOf(...names: readonly (string | undefined)[]): Alternative["convert"] {
  return names.flatMap((name) => CONVERTERS[name ?? ""] ?? []);
}

/**
 * The rules that apply to one table of one release. A rule for a column the release lacks is left
 * out when it is optional; otherwise the mapping document is wrong, which its own check tells.
 *
 * @param driver name shown as the origin of what the driver table gives
 */
export function compileRules(
  rules: readonly Rule[],
  columns: readonly Column[],
  target: TargetDoc,
  driver: string,
  origins: OriginTable,
): readonly CompiledRule[] {
  const known = new Set([...columns.map(({ name }) => name), ...besideColumns(target)]);
  const needs: { readonly [when in NonNullable<Rule["missing_when"]>]: boolean } = {
    takeover: target.takeover !== "none",
    "deploy-images": target.takeover === "deploy-images",
    netboot: target.boot === "netboot" || target.boot === "edit",
  };
  const needed = ({ missing_when }: Rule): boolean =>
    missing_when === undefined || needs[missing_when];
  return rules.flatMap((rule) => {
    const to = resolve(rule.to, target.keys);
    if (to === null) return [];
    const [column = "", ...rest] = to.split(".");
    if (!known.has(column)) return [];
    const from = rule.from === undefined ? [] : [rule.from].flat();
    return {
      path: [column, ...rest] as const,
      to,
      alternatives: from.map((text) =>
        alternative(text, rule, origins.number(to, originName(text, driver))),
      ),
      otherwise:
        rule.value === undefined
          ? null
          : converted(
              rule.value,
              convertersOf(rule.as),
              origins.number(to, `constant: ${rule.why ?? "fixed"}`),
              "value",
            ),
      instanceOnly: rule.when === "instance",
      sparse: rule.sparse === true,
      missing: rule.missing !== undefined && needed(rule) ? rule.missing : null,
    };
  });
}

/** How a source is named to a person: `bm_nodes.memory_mb`, `rule driver/ipmi`. */
function originName(text: string, driver: string): string {
  const [source = ""] = text.split("|");
  const [place, field] = [
    source.slice(0, source.indexOf(".")),
    source.slice(source.indexOf(".") + 1),
  ];
  switch (place) {
    case "driver":
      return `rule driver/${driver}`;
    case "state":
      return "rule state";
    case "target":
      return "rule release";
    case "conf":
      return `nova.conf [baremetal]${field}`;
    case "nova":
      return `nova.instances.${field}`;
    case "image":
      return `nova.instance_system_metadata.image_${field}`;
    case "boot":
      return `TFTP tree ${field}`;
    case "power":
      return "measured over IPMI";
    case "site":
      return `site document ${field}`;
    default:
      return source;
  }
}

/** What one rule made of its sources; null: nothing. */
type Applied =
  | { readonly value: Json; readonly origin: number; readonly warnings?: readonly Warning[] }
  | { readonly fault: string; readonly source: string }
  | null;

export function applyRule(
  { alternatives, otherwise }: CompiledRule,
  sources: RuleSources,
): Applied {
  for (const alternative of alternatives) {
    const applied = applyOne(alternative, sources);
    if (applied !== null) return applied;
  }
  return otherwise;
}

/** A rule whose column has a number among those of its table. */
export interface SettledRule extends CompiledRule {
  readonly column: number;
  /** Path below the column; empty where the rule gives the whole of it. */
  readonly inner: readonly string[];
  /** Whether another rule adds to the object that this one gives. */
  readonly grows: boolean;
}

/** Rules for machines of which some places say the same, with all worked out that they read there. */
export interface SettledRules {
  readonly rules: readonly SettledRule[];
  readonly columns: readonly string[];
  /** Columns that are NULL where no rule gives them anything. */
  readonly plain: readonly number[];
  readonly shapes: Shapes;
}

/**
 * What is left of rules where these places are known: most read them alone, and give every such machine
 * the same.
 *
 * @param keeps whether the machines keep their instances
 */
export function settleRules(
  rules: readonly CompiledRule[],
  fixed: RuleSources,
  keeps: boolean,
): SettledRules {
  const going = rules
    .filter(({ instanceOnly }) => keeps || !instanceOnly)
    .map((rule) => settled(rule, fixed))
    .filter(givesSomething);
  const plain = rules.filter(({ path, sparse }) => path.length === 1 && !sparse);
  const columns = [...new Set([...going, ...plain].map(({ path }) => path[0]))];
  const numbered = going.map((rule) => ({
    ...rule,
    column: columns.indexOf(rule.path[0]),
    inner: rule.path.slice(1),
    grows: going.some(({ to }) => to.startsWith(`${rule.to}.`)),
  }));
  return {
    columns,
    rules: numbered,
    plain: plain.map(({ path }) => columns.indexOf(path[0])),
    shapes: createShapes(columns),
  };
}

function settled(rule: CompiledRule, fixed: RuleSources): CompiledRule {
  const alternatives: Alternative[] = [];
  for (const alternative of rule.alternatives) {
    const known = alternative.place in fixed;
    const applied = known ? applyOne(alternative, fixed) : null;
    if (applied !== null) return { ...rule, alternatives, otherwise: applied };
    if (!known) alternatives.push(alternative);
  }
  return { ...rule, alternatives };
}

function givesSomething({ alternatives, otherwise, missing }: CompiledRule): boolean {
  return alternatives.length > 0 || otherwise !== null || missing !== null;
}

function applyOne({ place, field, convert, origin }: Alternative, sources: RuleSources): Applied {
  // Sources hold parsed JSON values only.
  const value = (sources[place]?.[field] ?? null) as Json;
  return value === null ? null : converted(value, convert, origin, `${place}.${field}`);
}

function converted(
  given: Json,
  convert: Alternative["convert"],
  origin: number,
  source: string,
): Applied {
  let value = given;
  let warnings: readonly Warning[] | undefined;
  for (const made of convert) {
    const result = made(value);
    if (result === null) return null;
    if ("fault" in result) return { fault: result.fault, source };
    value = result.value;
    warnings ??= result.warnings;
  }
  return warnings === undefined ? { value, origin } : { value, origin, warnings };
}

/** A finding about a value: its code and message. */
export type Warning = readonly [FindingCode, string];

/** What a converter gives: a value, nothing (the next source is tried), or why it cannot be read. */
type Converted =
  | { readonly value: Json; readonly warnings?: readonly Warning[] }
  | { readonly fault: string }
  | null;

/** iBoot's pm_address: `host[:port][,relay]`, split at the comma first. @source facts/nova-bm.md 3.2 */
function iboot(part: "host" | "port" | "relay"): (value: Json) => Converted {
  return (value) => {
    const match = /^([^,:]+)(?::([^,]*))?(?:,(.*))?$/.exec(String(value));
    if (match === null) return { fault: "is not host[:port][,relay]" };
    const [, host = "", port = "9100", relay = "1"] = match;
    if (part === "host") return trimmed(host);
    const text = (part === "port" ? port : relay).trim();
    if (part === "port" ? isPort(text) : /^\d{1,5}$/.test(text)) return { value: Number(text) };
    const wanted = part === "port" ? "is not from 1 to 65535" : "is no number";
    return { fault: `has the ${part} ${JSON.stringify(text)}, which ${wanted}` };
  };
}

export function isPort(value: unknown): boolean {
  return /^\d{1,5}$/.test(String(value)) && Number(value) > 0 && Number(value) < 65_536;
}

/** 1024 MiB are a GiB; a size between two is rounded up, since Ironic refuses a root too small. */
function gbOfMb(value: Json): Converted {
  return typeof value === "number" && value > 0 ? { value: Math.ceil(value / 1024) } : null;
}

/** An address without blanks around it, which resolvers of nova-baremetal's time ignored; nothing if it is empty. */
function trimmed(value: Json): Converted {
  if (typeof value !== "string") return { value };
  const bare = value.trim();
  if (bare === "") return null;
  if (bare === value) return { value };
  return { value: bare, warnings: [["N2I-D312", `${show(value)} is loaded as ${show(bare)}`]] };
}

/** @source nova 2014.2:nova/compute/arch.py ALL, and the other names that canonicalize takes */
const ARCHITECTURES = new Set(
  (
    "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel mips64 mips64el " +
    "openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 " +
    "xtensa xtensaeb i386 i486 i586 amd64"
  ).split(" "),
);

/** The word as it is: Nova compares flavors with it, and a machine that has another is still loaded. */
function arch(value: Json): Converted {
  const text = String(value);
  if (ARCHITECTURES.has(text.toLowerCase())) return { value };
  return { value, warnings: [["N2I-D307", `${show(text)} is no architecture that Nova knows`]] };
}

/** Values that Ironic takes of some capabilities. @source ironic 21.4:ironic/drivers/modules/deploy_utils.py */
const CAPABILITIES: { readonly [name: string]: readonly string[] } = {
  boot_mode: ["bios", "uefi"],
  boot_option: ["local", "netboot", "ramdisk", "kickstart"],
  disk_label: ["gpt", "msdos"],
  secure_boot: ["false", "true"],
  trusted_boot: ["false", "true"],
};

/**
 * The pairs of `k1:v1,k2:v2` that Ironic and Nova read: an empty text if they read none of those given.
 *
 * @source facts/ironic.md 3.3; nova 2014.2:nova/virt/ironic/driver.py _node_resource
 */
function capabilities(value: Json): Converted {
  if (value === "") return null;
  const warnings: Warning[] = [];
  const pairs = String(value)
    .split(",")
    .filter((pair) => {
      const fault = capabilityFault(pair);
      if (fault !== null) warnings.push(["N2I-D313", `${show(pair)} ${fault}`]);
      return fault === null;
    });
  return warnings.length === 0 ? { value } : { value: pairs.join(","), warnings };
}

function capabilityFault(pair: string): string | null {
  const [key = "", word = "", ...more] = pair.split(":").map((part) => part.trim());
  if (key === "" || word === "" || more.length > 0) return "is not of the form key:value";
  if (!/^[\x20-\x7e]+$/.test(key + word)) return "is not ASCII";
  const words = Object.hasOwn(CAPABILITIES, key) ? CAPABILITIES[key] : undefined;
  return words === undefined || words.includes(word) ? null : `is none of ${words.join(", ")}`;
}

/** @source ironic 7.0.0:ironic/drivers/modules/ssh.py _get_command_sets */
const VIRT_TYPES = ["parallels", "vbox", "virsh", "vmware", "xenserver"];

function virtType(value: Json): Converted {
  if (value === "") return null;
  return VIRT_TYPES.includes(String(value))
    ? { value }
    : { fault: `${show(String(value))} is none of ${VIRT_TYPES.join(", ")}` };
}

/** Converters that a value of the site document goes through as well. */
export const CHECKS: ReadonlySet<string> = new Set([
  "trimmed",
  "arch",
  "capabilities",
  "virt_type",
]);

/** Every converter a rule may name. A new one is a row here and a word in rules.schema.json. */
const CONVERTERS: { readonly [name: string]: (value: Json) => Converted } = {
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
  trimmed,
  arch,
  capabilities,
  virt_type: virtType,
  iboot_host: iboot("host"),
  iboot_port: iboot("port"),
  iboot_relay: iboot("relay"),
};
