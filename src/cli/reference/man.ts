import { CHECK_STATUS } from "../../model/check.ts";
import { EXIT_STATUS } from "../../model/exit-status.ts";
import { type CommandDoc, type OptionDoc, PROGRAM } from "./describe.ts";

interface Statuses {
  readonly [name: string]: { readonly status: number; readonly meaning: string };
}

/** A command's page for man(1): `nova2ironic-apply.1`. @source man(7) */
export function manPage(doc: CommandDoc, version: string): string {
  const statuses: Statuses = doc.name === "check" ? CHECK_STATUS : EXIT_STATUS;
  return [
    head(`nova2ironic-${doc.name}`, version),
    section("NAME", `nova2ironic\\-${escaped(doc.name)} \\- ${escaped(sentence(doc.summary))}`),
    section("SYNOPSIS", `.B ${PROGRAM} ${escaped(doc.usage)}\n[options]`),
    ...doc.groups.map(({ title, options }) =>
      section(title.toUpperCase(), options.map((one) => item(title, one)).join("\n")),
    ),
    ...(doc.examples.length === 0 ? [] : [section("EXAMPLES", lines(doc.examples))]),
    section("EXIT STATUS", statusItems(statuses)),
    section("SEE ALSO", ".BR nova2ironic (1)"),
  ].join("\n");
}

/** The program's own page, with what it can do. */
export function mainManPage(
  docs: readonly CommandDoc[],
  topics: readonly string[],
  version: string,
): string {
  const commands = docs.map(
    ({ name, summary }) => `.TP\n.BR nova2ironic\\-${escaped(name)} (1)\n${escaped(summary)}.`,
  );
  return [
    head("nova2ironic", version),
    section("NAME", "nova2ironic \\- carry a nova-baremetal deployment to OpenStack Ironic"),
    section("SYNOPSIS", ".B nova2ironic\ncommand [options]"),
    section(
      "DESCRIPTION",
      "Reads nova_bm, nova and nova.conf, shows what Ironic would hold, loads it, proves that it arrived, and takes it back.\nNo instance is deleted and no machine is switched.",
    ),
    section("COMMANDS", commands.join("\n")),
    section(
      "MANUAL",
      `.B nova2ironic help\n.I TOPIC\nprints a page, which is one of\n${escaped(topics.join(", "))}.`,
    ),
    section("EXIT STATUS", statusItems(EXIT_STATUS)),
    section(
      "SEE ALSO",
      docs.map(({ name }) => `.BR nova2ironic\\-${escaped(name)} (1)`).join(",\n"),
    ),
  ].join("\n");
}

function head(name: string, version: string): string {
  return `.TH ${name.toUpperCase().replaceAll("-", "\\-")} 1 "" "${version}" "nova2ironic"`;
}

function section(title: string, text: string): string {
  return `.SH ${title}\n${text}`;
}

function item(title: string, { name, letter, takes, choices, text }: OptionDoc): string {
  const short = letter === null ? "" : `\\fB\\-${letter}\\fR, `;
  const long = title === "Words" ? `\\fI${escaped(name)}\\fR` : `\\fB\\-\\-${escaped(name)}\\fR`;
  const word = takes === null || title === "Words" ? "" : ` \\fI${takes}\\fR`;
  const words = choices.length === 0 ? "" : `: ${choices.join(", ")}`;
  return `.TP\n${short}${long}${word}\n${escaped(`${text}${words}`)}.`;
}

function statusItems(statuses: Statuses): string {
  return Object.entries(statuses)
    .map(([name, { status, meaning }]) => `.TP\n.B ${status}\n${escaped(`${name}: ${meaning}`)}.`)
    .join("\n");
}

/** Command lines as they are typed. */
function lines(examples: readonly string[]): string {
  return `.nf\n${examples.map(escaped).join("\n")}\n.fi`;
}

function sentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** A backslash begins an escape anywhere, a dot or a quote a request at the beginning of a line. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^([.'])/gm, "\\&$1");
}
