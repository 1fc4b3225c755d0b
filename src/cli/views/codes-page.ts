import { EXIT_STATUS, type Refusal } from "../../lib/exit-status.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { FINDINGS, type FindingKind } from "../../model/findings.ts";
import { exitName } from "./explain.ts";

const HEAD = `# Codes

Every reason to stop (\`N2I-E...\`) and everything that is found in the data (\`N2I-D...\`): what it means and what to do.
\`nova2ironic explain CODE ...\` prints the same, with the piece of site document that accepts or sets it, and how to find
its machines. Codes are never reused. This page is made from \`src/model\`.
`;

/** First digits of findings, by what they are about. */
const AREAS = [
  ["N2I-D0", "Rows of nova_bm"],
  ["N2I-D1", "Machines and their tenants"],
  ["N2I-D2", "Instances, hosts and flavors in Nova"],
  ["N2I-D3", "nova.conf and the site document"],
  ["N2I-D4", "What Ironic needs"],
  ["N2I-D5", "What Ironic holds already"],
  ["N2I-D6", "Power and BMCs"],
  ["N2I-D70", "Boot files"],
  ["N2I-D75", "Adoption over REST"],
] as const;

const SEVERITY: { readonly [severity in FindingKind["severity"]]: string } = {
  blocks: "Blocks its machine",
  warning: "Warning: the machine is loaded",
  note: "For the record",
};

/** The manual's page of all codes, refusals first, then findings by area. */
export function codesPage(): string {
  const stops = Object.keys(EXIT_STATUS).flatMap((name) =>
    section(`Exit ${statusOf(name)}, ${name}`, refusalsWith(name)),
  );
  const found = AREAS.flatMap(([start, title]) => section(title, findingsFrom(start)));
  return [HEAD, ...stops, ...found].join("\n");
}

function statusOf(name: string): number {
  // The keys of the table are these names.
  return EXIT_STATUS[name as keyof typeof EXIT_STATUS].status;
}

function section(title: string, entries: readonly string[]): readonly string[] {
  return entries.length === 0 ? [] : [`## ${title}\n`, ...entries];
}

function refusalsWith(name: string): readonly string[] {
  return Object.entries(REFUSALS)
    .filter(([, { exit }]) => exitName(exit) === name)
    .map(([code, refusal]) => refusalEntry(code, refusal));
}

function refusalEntry(code: string, { title, why, fix }: Refusal): string {
  return `### ${code}\n\n**${title}.** ${why}\n\nDo: ${fix}\n`;
}

function findingsFrom(start: string): readonly string[] {
  return Object.entries<FindingKind>(FINDINGS)
    .filter(([code]) => code.startsWith(start))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([code, { severity, title, advice, acceptable }]) => {
      const accepted = acceptable === true ? "; can be accepted" : "";
      return `### ${code}\n\n**${title}.** ${SEVERITY[severity]}${accepted}.\n\nDo: ${advice}\n`;
    });
}
