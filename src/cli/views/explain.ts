import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS, type ExitName } from "../../lib/exit-status.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { didYouMean, nearest } from "../../lib/table/match.ts";
import type { View } from "../../lib/table/table.ts";
import { FINDINGS, type FindingCode, type FindingKind } from "../../model/findings.ts";

const refusals = new Map(Object.entries(REFUSALS));
const findings = new Map<string, FindingKind>(Object.entries(FINDINGS));

const SEVERITIES = {
  blocks: "blocks: the machine is not loaded",
  warning: "warning: the machine is loaded, but check it",
  note: "note: for the record",
} as const;

/**
 * Accepts lower case and a missing `N2I-`.
 *
 * @param topics topics to suggest if one is similar
 * @throws MigrationError N2I-E100 for an unknown code; its fix suggests similar ones
 */
export function explain(code: string, topics: readonly string[] = []): string {
  const canonical = normalised(code);
  const refusal = refusals.get(canonical);
  if (refusal !== undefined)
    return `${canonical}: ${refusal.title}\n\nWhy:  ${refusal.reason}\nExit: ${refusal.exit} (${exitName(refusal.exit)})\nFix:  ${refusal.fix}\n`;
  const finding = findings.get(canonical);
  // The lookup succeeded.
  if (finding !== undefined) return findingText(canonical as FindingCode, finding);
  const near = [
    ...nearest(canonical, [...refusals.keys(), ...findings.keys()]),
    ...nearest(code, topics),
  ];
  const what = `code ${topics.length === 0 ? "" : "or topic "}${JSON.stringify(code)}`;
  throw new MigrationError("N2I-E100", `there is no ${what}`, {
    fix: `${didYouMean(near)}List all codes with: nova2ironic explain --all-rows`,
  });
}

export function codesView(): View & { readonly rows: readonly (readonly string[])[] } {
  return {
    columns: ["Code", "Kind", "Title"],
    rows: [
      ...[...refusals].map(([code, { exit, title }]) => [code, `exit ${exit}`, title]),
      ...[...findings].map(([code, { severity, title }]) => [code, severity, title]),
    ],
    causes: ["Kind"],
  };
}

export function exitName(status: number): ExitName | "unknown" {
  // Object.entries widens the keys to strings.
  for (const [name, { status: code }] of Object.entries(EXIT_STATUS))
    if (code === status) return name as ExitName;
  return "unknown";
}

function findingText(code: FindingCode, { severity, title, advice }: FindingKind): string {
  const pieces = sitePieces(code).map((lines) => lines.map((line) => `  ${line}\n`).join(""));
  const site =
    pieces.length === 0 ? "" : `\nIn the site document:\n\n${pieces.join("\n  # or\n\n")}`;
  return [
    `${code}: ${title}\n`,
    `Severity: ${SEVERITIES[severity]}`,
    `Advice: ${advice}`,
    `Machines: nova2ironic show RUN/plan --match Finding=${code.replace("N2I-", "")}`,
    site,
  ].join("\n");
}

export function isCode(text: string): boolean {
  return /^N2I-[ED]\d+$/.test(normalised(text));
}

function normalised(code: string): string {
  const upper = code.trim().toUpperCase();
  return /^[ED]\d+$/.test(upper) ? `N2I-${upper}` : upper;
}

const ROOT = "root_uuid: ROOT-UUID";
const IMAGES = "deploy_kernel: GLANCE-ID, deploy_ramdisk: GLANCE-ID";
const DRIVER = "driver: DRIVER, driver_info: {FIELD: VALUE}";

/** Settings of a machine in the site document that resolve a finding. */
const SETS: { readonly [code in FindingCode]?: string } = {
  "N2I-D124": "driver_info: {ipmi_terminal_port: 8001}",
  "N2I-D125": "credentials_charset: utf8",
  "N2I-D127": "deploy_interface: direct",
  ...{ "N2I-D300": "driver: DRIVER", "N2I-D301": DRIVER, "N2I-D302": DRIVER },
  "N2I-D307": "cpu_arch: x86_64",
  "N2I-D314": "power_manager: ipmi",
  "N2I-D402": IMAGES,
  ...{ "N2I-D404": ROOT, "N2I-D700": ROOT, "N2I-D701": ROOT, "N2I-D702": ROOT },
  ...{ "N2I-D703": ROOT, "N2I-D704": ROOT, "N2I-D708": ROOT },
  "N2I-D403": "deploy_interface: ramdisk",
  "N2I-D407": "resource_class: CLASS",
  ...{ "N2I-D410": "driver: DRIVER", "N2I-D416": "driver: DRIVER", "N2I-D420": "driver: DRIVER" },
  ...{ "N2I-D412": "deploy_interface: INTERFACE", "N2I-D421": "deploy_interface: INTERFACE" },
  "N2I-D413": "driver_info: {redfish_address: 'https://ADDRESS'}",
  "N2I-D415": "network_interface: flat",
  "N2I-D503": "name: NAME",
  "N2I-D602": 'driver_info: {ipmi_priv_level: OPERATOR, ipmi_cipher_suite: "3"}',
  "N2I-D611": "driver_info: {ipmi_address: ADDRESS}",
  "N2I-D628": 'driver_info: {ipmi_cipher_suite: "17"}',
  "N2I-D629": "driver_info: {ipmi_priv_level: OPERATOR}",
  "N2I-D631": 'driver_info: {ipmi_cipher_suite: "3"}',
  ...{ "N2I-D757": IMAGES, "N2I-D758": IMAGES },
};

/** Findings whose advice is to skip the machine. */
const SKIPS: readonly FindingCode[] = [
  ...(["N2I-D001", "N2I-D002", "N2I-D003", "N2I-D302", "N2I-D308"] as const),
];

const LOGIN = [
  "rules:",
  "  node:",
  "    - {to: driver_info.redfish_username, from: bm_nodes.pm_user}",
  "    - {to: driver_info.redfish_password, from: bm_nodes.pm_password}",
];

const DOCUMENT_PARTS: { readonly [code in FindingCode]?: readonly string[] } = {
  "N2I-D008": [
    "drop: {bm_nodes.COLUMN: WHY}",
    "# or",
    "rules: {node: [{to: extra.COLUMN, from: bm_nodes.COLUMN}]}",
  ],
  "N2I-D413": LOGIN,
  "N2I-D414": LOGIN,
};

/** YAML lines that accept, resolve or skip a finding, with placeholders in capitals. */
export function sitePieces(code: FindingCode): readonly (readonly string[])[] {
  const { acceptable }: FindingKind = FINDINGS[code];
  const set = SETS[code];
  const documentPart = DOCUMENT_PARTS[code];
  return [
    ...(set === undefined ? [] : [machine(`set: {${set}}`)]),
    ...(documentPart === undefined ? [] : [documentPart]),
    ...(acceptable === true ? [machine(`accept: [{finding: ${code}, reason: WHY}]`)] : []),
    ...(SKIPS.includes(code) ? [machine("skip: WHY")] : []),
  ];
}

function machine(what: string): readonly string[] {
  return ["machines:", "  - match: {uuid: UUID}", `    ${what}`];
}
