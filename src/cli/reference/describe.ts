import type { Options } from "yargs";
import type { Declared, OptionTable } from "../options/declared.ts";
import { everyCommand } from "../options/every.ts";

export const PROGRAM = "nova2ironic";

/** A command for the pages that are made of its options. */
export interface CommandDoc {
  readonly name: string;
  /** Words behind the program's name: `show <file>`. */
  readonly usage: string;
  readonly summary: string;
  readonly groups: readonly OptionGroup[];
  readonly epilogue: string | null;
  readonly examples: readonly string[];
}

interface OptionGroup {
  readonly title: string;
  readonly options: readonly OptionDoc[];
}

export interface OptionDoc {
  readonly name: string;
  readonly letter: string | null;
  /** What follows it; null for a flag. */
  readonly takes: string | null;
  /** The words it takes, where there are few. */
  readonly choices: readonly string[];
  readonly text: string;
}

/** What a command's own options stand under. */
const OWN = "Options";

export function describeCommand({
  command,
  describe,
  positional,
  options = {},
  epilogue,
  examples = [],
}: Declared): CommandDoc {
  const [name = ""] = command.split(" ");
  const words: OptionTable = Object.fromEntries(positional ?? []);
  return {
    name,
    usage: command,
    summary: describe === false ? "" : describe,
    groups: [
      ...groupOf("Words", words, (word) => optionDoc(word, words[word] ?? {})),
      ...groupsOf({ ...options, ...everyCommand }),
    ],
    epilogue: epilogue ?? null,
    examples: examples.map((example) => example.replaceAll("$0", PROGRAM)),
  };
}

/** Options under their titles, a command's own first. */
function groupsOf(options: OptionTable): readonly OptionGroup[] {
  const titles = [...new Set(Object.values(options).map(titleOf))];
  const own = titles.toSorted((left, right) => Number(right === OWN) - Number(left === OWN));
  return own.flatMap((title) => {
    const under = Object.entries(options).filter(([, option]) => titleOf(option) === title);
    return groupOf(title, Object.fromEntries(under), (name, option) => optionDoc(name, option));
  });
}

function groupOf(
  title: string,
  options: OptionTable,
  doc: (name: string, option: Options) => OptionDoc,
): readonly OptionGroup[] {
  const docs = Object.entries(options).map(([name, option]) => doc(name, option));
  return docs.length === 0 ? [] : [{ title, options: docs }];
}

function titleOf({ group }: Options): string {
  return group === undefined ? OWN : group.replace(/:$/, "");
}

function optionDoc(name: string, option: Options): OptionDoc {
  const { alias, choices = [], describe = "", demandOption, default: given, array } = option;
  const notes = [
    ...(demandOption === true ? ["required"] : []),
    ...(array === true && !/repeat/i.test(describe) ? ["may be repeated"] : []),
    ...(given === undefined || given === false ? [] : [`default ${String(given)}`]),
  ];
  return {
    name,
    letter: typeof alias === "string" ? alias : null,
    takes: takesOf(option),
    choices: choices.map(String),
    text: notes.length === 0 ? describe : `${describe} (${notes.join("; ")})`,
  };
}

function takesOf({ type, choices }: Options): string | null {
  if (type === "boolean") return null;
  return type === "number" ? "N" : choices === undefined ? "WORD" : "CHOICE";
}
