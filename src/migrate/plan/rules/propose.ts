import { counted } from "../../../lib/text.ts";
import { blocks, FINDINGS } from "../../../model/findings.ts";
import type { Machine } from "../../../model/machine.ts";
import type { Images } from "../../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../../model/plan.ts";
import type { PowerReading, PowerReadings } from "../../../model/power.ts";
import type { Numbers } from "../../../model/rows.ts";
import { diskOf, type MachineFlavor } from "../../../model/settings.ts";

/** In MiB and GiB. */
type NodeSize = Numbers<"cpus" | "memory_mb" | "local_gb">;

/** Values for all machines that have the same ones. */
interface Setting {
  readonly node: NodeSize;
  readonly size: string;
  readonly requiresClass: boolean;
  readonly found: Class | null;
  readonly driver_info: { readonly [key: string]: string };
}

/** The lines of each decision of the document, with the UUIDs of its machines. */
type Decisions = Map<string, string[]>;

/** Findings that `power` resolves. To accept them would hide that it did not run. */
const ASK_FIRST: readonly string[] = ["N2I-D604", "N2I-D612"];

/**
 * An initial site document. Known values are filled in. Values for the operator are empty, which every
 * command refuses. Reasons are never proposed.
 * @param keys driver_info keys of the release that not every release has
 * @param images of the options, which machines without images get
 */
export function createProposal({
  readings,
  keys,
  images,
  placement,
  flavors,
}: {
  readonly readings: PowerReadings;
  readonly keys: readonly string[];
  readonly images: Images | null;
  /** Provider's class (`CUSTOM_GOLD`) by machine UUID in lower case. */
  readonly placement: ReadonlyMap<string, string>;
  /** Live flavors for machines, used or unused. */
  readonly flavors: readonly MachineFlavor[];
}) {
  const accepts: Decisions = new Map();
  const settings = new Map<string, Setting>();
  const machines: { readonly uuid: string; readonly to: Setting }[] = [];
  const hard: string[] = [];
  const totals = { unread: 0, images: false };
  return {
    add(line: PlannedMachine, machine: Machine): void {
      const { uuid, findings, bm_node_id } = line;
      const open = findings.filter(blocks);
      const codes = new Set(findings.map(({ code }) => code));
      if (line.verdict === "skipped" || uuid === null) return;
      if (open.some(({ code }) => ASK_FIRST.includes(code))) totals.unread += 1;
      totals.images ||= findings.some(({ message }) => /deploy_(kernel|ramdisk)$/.test(message));
      const driver_info = settingsOf(findings, readings.get(bm_node_id), keys);
      const remaining = open.filter(
        ({ code, message }) =>
          !ASK_FIRST.includes(code) &&
          !(code === "N2I-D602" && Object.keys(driver_info).some((key) => names(message, key))) &&
          !/deploy_(kernel|ramdisk)$/.test(message),
      );
      for (const { code, message } of remaining) {
        const reason = plain(message);
        if (FINDINGS[code].acceptable !== true) hard.push(`${uuid} ${code} ${reason}`);
        else addTo(accepts, uuid, `    accept: [{finding: ${code}, reason: ""}]   # ${reason}`);
      }
      const requiresClass = codes.has("N2I-D407");
      if (!requiresClass && Object.keys(driver_info).length === 0) return;
      const { cpus, memory_mb, local_gb } = machine.node;
      const found = requiresClass ? classOf(machine, placement) : null;
      const setting = { node: { cpus, memory_mb, local_gb }, requiresClass, found, driver_info };
      const key = JSON.stringify(setting);
      const size = `${cpus} cpus, ${memory_mb} MiB, ${local_gb} GB`;
      const to = settings.get(key) ?? { ...setting, size };
      settings.set(key, to);
      machines.push({ uuid, to });
    },
    /**
     * Each decision once, with all its machines: first those that need a reason, then values. A
     * later entry adds to an earlier one.
     */
    text(): string {
      const found = classesOf([...settings.values()], flavors);
      const sets: Decisions = new Map();
      for (const { uuid, to } of machines)
        addTo(sets, uuid, settingText(to, found.get(to) ?? null));
      const all = [...accepts, ...sets].flatMap(([text, uuids]) => [...matchLines(uuids), text]);
      return render([...(totals.images ? imageLines(images) : []), ...all], hard, totals.unread);
    },
  };
}

function addTo(decisions: Decisions, uuid: string, text: string): void {
  const uuids = decisions.get(text) ?? [];
  decisions.set(text, uuids);
  uuids.push(uuid);
}

/** Settings from the readings that a conductor needs and its release reads. */
function settingsOf(
  findings: PlannedMachine["findings"],
  reading: PowerReading | undefined,
  keys: readonly string[],
): { readonly [key: string]: string } {
  if (reading?.verdict !== "ok") return {};
  const has = (code: string, key = ""): boolean =>
    findings.some((one) => one.code === code && (key === "" || names(one.message, key)));
  const suite = has("N2I-D628") && reading.suite !== null ? String(reading.suite) : null;
  const all = [{ key: "ipmi_cipher_suite", value: suite }, ...reading.advice];
  return Object.fromEntries(
    all.flatMap(({ key, value }, at) =>
      key !== null && value !== null && keys.includes(key) && (at === 0 || has("N2I-D602", key))
        ? [[key, value]]
        : [],
    ),
  );
}

/** Whether a finding is about this key: `set driver_info.ipmi_priv_level to OPERATOR`. */
function names(message: string, key: string): boolean {
  return message.includes(`driver_info.${key} `);
}

function render(decisions: readonly string[], hard: readonly string[], unread: number): string {
  const lines = [
    "# Proposed by nova2ironic plan --propose-site. Check every line. Empty values are refused",
    "# until you fill them in, or delete the line. Write your own reasons.",
    ...(unread > 0
      ? [`# ${counted(unread, "machine has", "machines have")} no power reading. Run power first.`]
      : []),
    ...(hard.length > 0 ? ["# Correct these in the source. They cannot be accepted:"] : []),
    ...hard.map((text) => `#   ${text}`),
    "format: nova2ironic/site@1",
  ];
  const body = decisions.length === 0 ? ["machines: []"] : ["machines:", ...decisions];
  return [...lines, ...body, ""].join("\n");
}

function imageLines(images: Images | null): readonly string[] {
  const { kernel, ramdisk } = images?.do === "point" ? images : { kernel: "", ramdisk: "" };
  return [
    "  - match: {}   # Ironic's own deploy images in Glance, not nova-baremetal's",
    `    set: {deploy_kernel: ${JSON.stringify(kernel)}, deploy_ramdisk: ${JSON.stringify(ramdisk)}}`,
  ];
}

function settingText({ requiresClass, driver_info, size }: Setting, found: Class | null): string {
  const settings = Object.entries(driver_info).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  );
  const set = [
    ...(requiresClass
      ? [`resource_class: ${JSON.stringify(found?.name ?? "")}   # ${plain(found?.reason ?? size)}`]
      : []),
    ...(settings.length > 0 ? [`driver_info: {${settings.join(", ")}}   # found by power`] : []),
  ];
  return ["    set:", ...set.map((line) => `      ${line}`)].join("\n");
}

function matchLines(uuids: readonly string[]): readonly string[] {
  const [only = ""] = uuids;
  if (uuids.length === 1) return [`  - match: {uuid: ${JSON.stringify(only)}}`];
  return [
    `  - match:   # ${counted(uuids.length, "machine")}`,
    "      uuid:",
    ...uuids.map((uuid) => `        - ${JSON.stringify(uuid)}`),
  ];
}

/** One line, without characters that end a comment or control a terminal. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").slice(0, 200);
}

/** A class to propose, with the reason. The name is empty if several match. */
interface Class {
  readonly name: string;
  readonly reason: string;
  /** Derived from a name, because neither Nova nor Placement has a class. */
  readonly guess: boolean;
}

/** The class of the machine's provider or of its instance's flavor. */
function classOf({ node, nova }: Machine, placement: ReadonlyMap<string, string>): Class | null {
  const provider = placement.get(node.uuid?.toLowerCase() ?? "");
  if (provider !== undefined)
    return { name: bare(provider), reason: `Placement has ${provider}`, guess: false };
  const flavor = nova?.instance?.flavor ?? null;
  return flavor === null ? null : flavorClass(flavor);
}

function flavorClass({
  name: flavorName,
  extra_specs,
}: Pick<MachineFlavor, "name" | "extra_specs">): Class | null {
  const [only, ...more] = Object.entries(extra_specs).flatMap(([key, value]) =>
    /^resources:CUSTOM_/.test(key) && value === "1" ? key.slice("resources:".length) : [],
  );
  const flavor = `flavor ${flavorName ?? ""}`;
  if (only !== undefined && more.length === 0)
    return { name: bare(only), reason: `${flavor} requests ${only}`, guess: false };
  const name = (flavorName ?? "").replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 80);
  return name === "" ? null : { name, reason: `named after ${flavor}${GUESS}`, guess: true };
}

/** The node's class `gold` for Nova's `CUSTOM_GOLD`. */
function bare(custom: string): string {
  return custom.replace(/^CUSTOM_/, "").toLowerCase();
}

/** The class of each entry. The size decides if nothing else is known. */
function classesOf(
  entries: readonly Setting[],
  flavors: readonly MachineFlavor[],
): ReadonlyMap<Setting, Class | null> {
  const bySize = new Map<string, Class[]>();
  const note = (size: string, one: Class) => bySize.set(size, [...(bySize.get(size) ?? []), one]);
  for (const [size, node] of new Map(entries.map(({ size, node }) => [size, node])))
    for (const flavor of flavors) {
      const found = hasExactSize(flavor, node) ? flavorClass(flavor) : null;
      if (found !== null) note(size, found);
    }
  const unique = new Set<string>();
  for (const { size, found } of entries) {
    const key = JSON.stringify([size, found?.name]);
    if (found === null || unique.has(key)) continue;
    unique.add(key);
    note(size, { ...found, reason: `as machines of ${size}${GUESS}` });
  }
  const chosen = new Map([...bySize].map(([size, classes]) => [size, choose(classes)]));
  const classFor = ({ found, requiresClass, size }: Setting): Class | null =>
    found ?? (requiresClass ? (chosen.get(size) ?? null) : null);
  return new Map(entries.map((entry) => [entry, classFor(entry)]));
}

/** Compares exact sizes, because a smaller flavor also fits. Disks are often larger. */
function hasExactSize({ size }: MachineFlavor, { cpus, memory_mb, local_gb }: NodeSize): boolean {
  return (
    size.vcpus === cpus && size.memory_mb === memory_mb && diskOf(size) <= 1024 * (local_gb ?? 0)
  );
}

const GUESS = ": a guess";

/** Prefers a known class to a derived one. If several remain, none is chosen. */
function choose(classes: readonly Class[]): Class {
  const sure = classes.filter(({ guess }) => !guess);
  const byName = new Map<string, Class>();
  for (const one of sure.length > 0 ? sure : classes) {
    const name = one.name.toLowerCase().replaceAll(/[^0-9a-z]+/g, "_"); // as Nova compares them
    if (!byName.has(name)) byName.set(name, one);
  }
  const [only, ...more] = byName.values();
  // A matching size is not a proof.
  if (only !== undefined && more.length === 0)
    return only.reason.endsWith(GUESS)
      ? only
      : { ...only, reason: `${only.reason}${GUESS} by the size` };
  const each = [...byName.values()].map(({ name, reason }) => `${name} (${reason})`);
  return { name: "", reason: `several match: ${each.join(", ")}`, guess: true };
}
