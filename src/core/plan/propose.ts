import { FINDINGS } from "../../model/findings.ts";
import type { Json } from "../../model/json.ts";
import { blocks } from "../../model/judge.ts";
import type { Machine } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { PowerReading } from "../../model/power.ts";

/** What a first site document is made of, besides the plan's lines. */
export interface Known {
  /** Machine's uuid, in lower case -> class of its provider, `CUSTOM_GOLD`. */
  readonly placement: ReadonlyMap<string, string>;
  readonly readings: ReadonlyMap<number, PowerReading>;
  /** driver_info keys the release reads, of those that not every release does. */
  readonly keys: readonly string[];
}

export interface Proposal {
  readonly add: (line: PlannedMachine, machine: Machine) => void;
  /** The document, as YAML. */
  readonly text: () => string;
}

/** Where a class comes from; the last two are a guess that the operator is told of. */
interface Class {
  readonly name: string;
  readonly why: string;
}

interface Entry {
  readonly uuid: string;
  readonly size: string;
  readonly wantsClass: boolean;
  readonly found: Class | null;
  readonly driver_info: { readonly [key: string]: string };
  readonly accept: readonly { readonly finding: string; readonly why: string }[];
}

/** Asking answers these; an acceptance would only hide that nobody did. */
const ASK_FIRST: readonly string[] = ["N2I-D604", "N2I-D612"];

/**
 * A first site document: what is known is filled in, and what only the operator knows is empty, which
 * no command takes for an answer. A reason is never proposed: somebody has to have one.
 */
export function createProposal({ placement, readings, keys }: Known): Proposal {
  const entries: Entry[] = [];
  const hard: string[] = [];
  const seen = { unasked: 0, images: false };
  return {
    add(line, machine) {
      const { uuid, findings, bm_node_id } = line;
      const open = findings.filter(blocks);
      const codes = new Set(findings.map(({ code }) => code));
      if (line.verdict === "skipped" || uuid === null) return;
      if (open.some(({ code }) => ASK_FIRST.includes(code))) seen.unasked += 1;
      seen.images ||= findings.some(({ message }) => /deploy_(kernel|ramdisk)$/.test(message));
      const driver_info = settingsOf(codes, readings.get(bm_node_id), keys);
      const answered = "ipmi_cipher_suite" in driver_info || "ipmi_priv_level" in driver_info;
      const left = open.filter(
        ({ code, message }) =>
          !ASK_FIRST.includes(code) &&
          !(code === "N2I-D602" && answered) &&
          !/deploy_(kernel|ramdisk)$/.test(message),
      );
      const isAcceptable = (code: keyof typeof FINDINGS): boolean =>
        (FINDINGS[code] as { readonly acceptable?: true }).acceptable === true;
      for (const { code, message } of left)
        if (!isAcceptable(code)) hard.push(`${uuid} ${code} ${plain(message)}`);
      entries.push({
        ...{ uuid, size: sizeOf(machine), wantsClass: codes.has("N2I-D407"), driver_info },
        found: codes.has("N2I-D407") ? classOf(machine, placement) : null,
        accept: left
          .filter(({ code }) => isAcceptable(code))
          .map(({ code, message }) => ({ finding: code, why: plain(message) })),
      });
    },
    text: () => render(entries.map(withSameSize(entries)), hard, seen),
  };
}

/** What the readings found that a conductor needs, where its release reads it. */
function settingsOf(
  codes: ReadonlySet<string>,
  reading: PowerReading | undefined,
  keys: readonly string[],
): { readonly [key: string]: string } {
  if (reading?.verdict !== "ok") return {};
  const needed = codes.has("N2I-D602") ? reading.advice : [];
  const slow = codes.has("N2I-D628") && reading.suite !== null ? String(reading.suite) : null;
  const all = [
    ...(slow === null ? [] : [["ipmi_cipher_suite", slow] as const]),
    ...needed.flatMap(({ key, value }) =>
      key === null || value === null ? [] : [[key, value] as const],
    ),
  ];
  return Object.fromEntries(all.filter(([key]) => keys.includes(key)));
}

function classOf({ node, nova }: Machine, placement: Known["placement"]): Class | null {
  const provider = placement.get(node.uuid?.toLowerCase() ?? "");
  if (provider !== undefined) return { name: bare(provider), why: `Placement has ${provider}` };
  const flavor = nova?.instance?.flavor ?? null;
  if (flavor === null) return null;
  const asked = Object.entries(flavor.extra_specs).flatMap(([key, value]) =>
    /^resources:CUSTOM_/.test(key) && value === "1" ? key.slice("resources:".length) : [],
  );
  const [only, ...more] = asked;
  if (only !== undefined && more.length === 0)
    return { name: bare(only), why: `flavor ${flavor.name ?? ""} asks for ${only}` };
  const name = (flavor.name ?? "").replaceAll(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 80);
  return name === "" ? null : { name, why: `named after flavor ${flavor.name ?? ""}: a guess` };
}

/** `CUSTOM_GOLD` as Nova makes it of a node's class `gold`. */
function bare(custom: string): string {
  return custom.replace(/^CUSTOM_/, "").toLowerCase();
}

function sizeOf({ node: { cpus, memory_mb, local_gb } }: Machine): string {
  return `${cpus} cpus, ${memory_mb} MiB, ${local_gb} GB`;
}

/** A machine without a tenant gets the class that all machines of its size have. */
function withSameSize(entries: readonly Entry[]): (entry: Entry) => Entry {
  const bySize = new Map<string, Set<string>>();
  for (const { size, found } of entries)
    if (found !== null) bySize.set(size, (bySize.get(size) ?? new Set()).add(found.name));
  return (entry) => {
    const [only, ...more] = bySize.get(entry.size) ?? [];
    const same =
      entry.found === null && entry.wantsClass && only !== undefined && more.length === 0;
    return same
      ? { ...entry, found: { name: only, why: `as machines of ${entry.size}: a guess` } }
      : entry;
  };
}

function render(
  entries: readonly Entry[],
  hard: readonly string[],
  { unasked, images }: { readonly unasked: number; readonly images: boolean },
): string {
  const lines = [
    "# Proposed by nova2ironic plan --propose-site. Read it line by line. What is empty is refused",
    "# until you fill it in, or delete the line: a reason is yours alone.",
    ...(unasked > 0 ? [`# ${unasked} machines have no reading of this: run power first.`] : []),
    ...(hard.length > 0 ? ["# To be corrected where it stands; nobody can accept these:"] : []),
    ...hard.map((text) => `#   ${text}`),
    "format: nova2ironic/site@1",
  ];
  const body = [...(images ? IMAGES : []), ...entries.flatMap(entryLines)];
  return [...lines, ...(body.length === 0 ? ["machines: []"] : ["machines:", ...body]), ""].join(
    "\n",
  );
}

const IMAGES = [
  "  - match: {}   # Ironic's own deploy images in Glance, not nova-baremetal's",
  '    set: {deploy_kernel: "", deploy_ramdisk: ""}',
];

function entryLines({
  uuid,
  wantsClass,
  found,
  driver_info,
  accept,
  size,
}: Entry): readonly string[] {
  const settings = Object.entries(driver_info).map(([key, value]) => `${key}: ${quoted(value)}`);
  const set = [
    ...(wantsClass
      ? [`resource_class: ${quoted(found?.name ?? "")}   # ${plain(found?.why ?? size)}`]
      : []),
    ...(settings.length > 0 ? [`driver_info: {${settings.join(", ")}}   # power found it`] : []),
  ];
  if (set.length + accept.length === 0) return [];
  return [
    `  - match: {uuid: ${quoted(uuid)}}`,
    ...(set.length > 0 ? ["    set:", ...set.map((line) => `      ${line}`)] : []),
    ...(accept.length > 0 ? ["    accept:"] : []),
    ...accept.map(({ finding, why }) => `      - {finding: ${finding}, reason: ""}   # ${why}`),
  ];
}

function quoted(value: Json): string {
  return JSON.stringify(value);
}

/** One line, without what could end a comment or steer a terminal. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").slice(0, 200);
}
