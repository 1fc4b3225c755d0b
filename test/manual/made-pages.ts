import type { Options } from "yargs";
import {
  type Declared,
  isCommon,
  nameOf,
  type OptionTable,
} from "../../src/cli/options/declared.ts";
import { everyCommand, listOptions, SHARED } from "../../src/cli/options/shared.ts";
import { exitName } from "../../src/cli/views/explain.ts";
import { EXIT_STATUS } from "../../src/lib/exit-status.ts";
import { REFUSALS } from "../../src/lib/refusals.ts";
import { FINDINGS, type FindingKind } from "../../src/model/findings.ts";

const OWN = "Options";

export function commandPage(declared: Declared): string {
  const { command, describe, positional = [], options = {}, epilogue, examples = [] } = declared;
  const lines = examples.map((example) => example.replaceAll("$0", "nova2ironic"));
  return [
    `# nova2ironic ${nameOf(declared)}\n`,
    `${describe}.\n`,
    `\`\`\`sh\nnova2ironic ${command} [options]\n\`\`\`\n`,
    ...section(
      "Arguments",
      positional.map(([name, option]) => row(`\`${name.toUpperCase()}\``, option)),
    ),
    ...sections(options, (option) => !isCommon(option)),
    ...(epilogue === undefined ? [] : [`${epilogue.replace(/\.$/, "")}.\n`]),
    ...(lines.length === 0 ? [] : [`## Examples\n\n\`\`\`sh\n${lines.join("\n")}\n\`\`\`\n`]),
    "The other options are those of [every command](../common-options.md). This page is generated from the command's options.\n",
  ].join("\n");
}

export function commonPage(): string {
  return [
    "# Common options\n",
    "Every command has the options of the last section. A command that calls an API of OpenStack has those of *OpenStack*, and a command that prints a list those of *Output*, under the names that they have in OpenStack's clients.\n",
    ...sections({ ...SHARED, ...listOptions, ...everyCommand }, isCommon),
    "This page is generated from the options.\n",
  ].join("\n");
}

function sections(options: OptionTable, wants: (option: Options) => boolean): readonly string[] {
  const all = Object.entries(options).filter(([, option]) => wants(option));
  const titles = new Set([OWN, ...all.map(([, option]) => titleOf(option))]);
  return [...titles].flatMap((title) =>
    section(
      title,
      all
        .filter(([, option]) => titleOf(option) === title)
        .map(([name, option]) => row(flagsOf(name, option), option)),
    ),
  );
}

function section(title: string, rows: readonly string[]): readonly string[] {
  return rows.length === 0 ? [] : [`## ${title}\n\n| | |\n| --- | --- |\n${rows.join("\n")}\n`];
}

function titleOf({ group = OWN }: Options): string {
  return group.replace(/:$/, "");
}

function flagsOf(name: string, { alias, type, choices }: Options): string {
  const value = type === "number" ? " N" : choices === undefined ? " WORD" : " CHOICE";
  const long = `\`--${name}${type === "boolean" ? "" : value}\``;
  if (typeof alias !== "string") return long;
  return `\`${alias.length > 1 ? "--" : "-"}${alias}\`, ${long}`;
}

function row(flags: string, option: Options): string {
  const { choices = [], describe = "", demandOption, default: usual, array } = option;
  const notes = [
    ...(demandOption === true ? ["required"] : []),
    ...(array === true && !/repeat/i.test(describe) ? ["may be repeated"] : []),
    ...(usual === undefined || usual === false ? [] : [`default ${String(usual)}`]),
  ];
  const text = notes.length === 0 ? describe : `${describe} (${notes.join("; ")})`;
  const words = choices.length === 0 ? "" : `: ${choices.join(", ")}`;
  return `| ${flags} | ${`${text}${words}`.replaceAll("|", "\\|").replaceAll("<", "&lt;")} |`;
}

const HEAD = `# Codes

All refusals (\`N2I-E...\`) and findings (\`N2I-D...\`), with cause and fix. \`nova2ironic explain CODE ...\` also prints
the piece of site document that accepts or sets a finding, and the command that lists its machines. A blocking
finding excludes its machine. Codes are never reused. This page is generated from \`src/lib\` and \`src/model\`.
`;

/** First digits of findings, by what they are about. */
const AREAS = [
  ["N2I-D0", "Rows of nova_bm"],
  ["N2I-D1", "Machines and their tenants"],
  ["N2I-D2", "Instances, hosts and flavors in Nova"],
  ["N2I-D3", "nova.conf and the site document"],
  ["N2I-D4", "Records for Ironic"],
  ["N2I-D5", "Existing rows in Ironic"],
  ["N2I-D6", "Power and BMCs"],
  ["N2I-D70", "Boot files"],
  ["N2I-D75", "Adoption over REST"],
] as const;

const SEVERITY: { readonly [severity in FindingKind["severity"]]: string } = {
  blocks: "Blocks",
  warning: "Warning",
  note: "Note",
};

export function codesPage(): string {
  const stops = Object.entries(EXIT_STATUS).map(([name, { status }]) => {
    const codes = Object.entries(REFUSALS).filter(([, { exit }]) => exitName(exit) === name);
    const entries = codes.map(([code, { title, reason: why, fix }]) =>
      entry(code, title, `${why}\n\nFix: ${fix}`),
    );
    return { title: `Exit ${status}, ${name}`, entries };
  });
  const found = AREAS.map(([start, title]) => {
    const codes = Object.entries<FindingKind>(FINDINGS).filter(([code]) => code.startsWith(start));
    const entries = codes.map(([code, { severity, title, advice, acceptable }]) => {
      const accepted = acceptable === true ? " unless accepted" : "";
      return entry(code, title, `${SEVERITY[severity]}${accepted}.\n\n${advice}`);
    });
    return { title, entries: entries.sort() };
  });
  const sections = [...stops, ...found].flatMap(({ title, entries }) =>
    entries.length === 0 ? [] : [`## ${title}\n`, ...entries],
  );
  return [HEAD, ...sections].join("\n");
}

function entry(code: string, title: string, text: string): string {
  return `### ${code}\n\n**${title}.** ${text}\n`;
}
