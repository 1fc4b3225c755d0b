import { blocks } from "../../model/finding.ts";
import { FINDINGS } from "../../model/findings.ts";
import type { Json } from "../../model/json.ts";
import type { Machine } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { PowerReading } from "../../model/power.ts";
import { type Classes, classOf, type Sized, sizeOf, withSizes } from "./propose-class.ts";

/** What a first site document is made of, besides the plan's lines. */
interface ProposalFacts extends Classes {
  readonly readings: ReadonlyMap<number, PowerReading>;
  /** driver_info keys the release reads, of those that not every release does. */
  readonly keys: readonly string[];
}

export interface Proposal {
  readonly add: (line: PlannedMachine, machine: Machine) => void;
  /** The document, as YAML. */
  readonly text: () => string;
}

interface Entry extends Sized {
  readonly uuid: string;
  readonly wantsClass: boolean;
  readonly driver_info: { readonly [key: string]: string };
  readonly accept: readonly { readonly finding: string; readonly why: string }[];
}

/** Asking answers these; an acceptance would only hide that nobody did. */
const ASK_FIRST: readonly string[] = ["N2I-D604", "N2I-D612"];

/**
 * A first site document: what is known is filled in, and what only the operator knows is empty, which
 * no command takes for an answer. A reason is never proposed: somebody has to have one.
 */
export function createProposal({ readings, keys, ...classes }: ProposalFacts): Proposal {
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
      const driver_info = settingsOf(findings, readings.get(bm_node_id), keys);
      const left = open.filter(
        ({ code, message }) =>
          !ASK_FIRST.includes(code) &&
          !(code === "N2I-D602" && Object.keys(driver_info).some((key) => names(message, key))) &&
          !/deploy_(kernel|ramdisk)$/.test(message),
      );
      for (const { code, message } of left)
        if (FINDINGS[code].acceptable !== true) hard.push(`${uuid} ${code} ${plain(message)}`);
      entries.push({
        ...{ uuid, size: sizeOf(machine.node), wantsClass: codes.has("N2I-D407"), driver_info },
        found: codes.has("N2I-D407") ? classOf(machine, classes.placement) : null,
        node: machine.node,
        accept: left
          .filter(({ code }) => FINDINGS[code].acceptable === true)
          .map(({ code, message }) => ({ finding: code, why: plain(message) })),
      });
    },
    text: () => render(withSizes(entries, classes.flavors), hard, seen),
  };
}

/** What the readings found that a conductor needs, where its release reads it. */
function settingsOf(
  findings: PlannedMachine["findings"],
  reading: PowerReading | undefined,
  keys: readonly string[],
): { readonly [key: string]: string } {
  if (reading?.verdict !== "ok") return {};
  const wanted = findings.filter(({ code }) => code === "N2I-D602");
  const slow = findings.some(({ code }) => code === "N2I-D628");
  const all = [
    ...(slow && reading.suite !== null
      ? [["ipmi_cipher_suite", String(reading.suite)] as const]
      : []),
    ...reading.advice.flatMap(({ key, value }) =>
      key !== null && value !== null && wanted.some(({ message }) => names(message, key))
        ? [[key, value] as const]
        : [],
    ),
  ];
  return Object.fromEntries(all.filter(([key]) => keys.includes(key)));
}

/** Whether a finding is about this key: `set driver_info.ipmi_priv_level to OPERATOR`. */
function names(message: string, key: string): boolean {
  return message.includes(`driver_info.${key} `);
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
