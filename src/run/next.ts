import { resolve } from "node:path";
import { shellWord } from "../lib/text.ts";
import { POWER_MAX_AGE } from "../model/power.ts";
import { absolute } from "./paths.ts";
import { type Connection, surroundings } from "./process-context.ts";

/** Options that say where Ironic is and how to reach it. */
export const TARGET = [
  ...["ironic-db", "via", "os-cloud", "ironic-url", "os-cacert", "insecure", "api-timeout"],
] as const;
/** Those of them that say where Ironic is. */
export const BACKENDS: readonly string[] = ["ironic-db", "via", "os-cloud", "ironic-url"];
const NOVA = ["nova-db", "nova-api-db"] as const;
/** Options of Nova's side; a command that does not look at it is given none of them. */
export const BESIDE: readonly string[] = [...NOVA, "placement-db"];

/** What says where something is, as mappings/schema/connections.schema.json has it. */
export const CONNECTIONS: readonly string[] = [
  ...["nova-bm-db", ...BESIDE, ...TARGET, "nova-conf", "tftp-root", "conductor-tftp-root"],
  ...["site", "key-file", "ironic-release", "conductor-ipmitool", "conductor-log"],
  ...["compute-log", "compute-host", "ironic-conf"],
];
/** Databases and services: a command line that names another than a run keeps is given none of the run's beside it. */
export const PLACES: readonly string[] = ["nova-bm-db", ...BACKENDS, ...BESIDE];
/** Commands to which Nova's databases, or a login beside Ironic's, mean something else than to those that act. */
export const NOTHING_FOR: readonly string[] = ["config", "status"];

/** What `run` takes for its stages, besides what says where everything is. */
export const FOR_STAGES = {
  power: ["rate"],
  plan: [
    ...["flavor-images", "deploy-kernel", "deploy-ramdisk", "flavor", "allow-pairing"],
    ...["beside-others", "max-unreachable", "record-power"],
  ],
} as const;

/**
 * Options of a command that running it next, or again, wants as they were given before. What is missing
 * here is either asked each time (`--yes`) or is what a line itself says (`--undo`, `--plan`).
 */
export const KEPT = {
  extract: ["nova-bm-db", "nova-db", "nova-conf", "tftp-root", "key-file"],
  power: [
    ...["only", "node", "host", "site", "ironic-release", "conductor-ipmitool"],
    ...["in-flight", "rate", "deadline", "list", "key-file"],
  ],
  plan: [
    ...[...TARGET, "ironic-release", ...NOVA, "compute-host", "flavor-images", "deploy-kernel"],
    ...["deploy-ramdisk", "flavor", "site", "allow-pairing", "beside-others", "max-unreachable"],
    ...["conductor-ipmitool", "record-power", "key-file"],
  ],
  apply: [
    ...[...TARGET, ...NOVA, "leave-nova", "skip-blocked", "staged", "power-max-age"],
    ...["in-flight", "watch", "allow-running-compute", "allow-queued-requests"],
    ...["after-finish", "key-file"],
  ],
  verify: [
    ...[...TARGET, ...NOVA, "placement-db", "takeover", "final", "conductor-log"],
    "key-file",
  ],
  status: ["nova-db", "placement-db"],
  run: [
    ...[
      "until",
      "staged",
      "skip-blocked",
      "per-minute",
      "pause-file",
      "hook-timeout",
      "watch",
      "wait",
    ],
    ...[...FOR_STAGES.power, ...FOR_STAGES.plan],
  ],
  handover: [
    ...["ironic-db", "node", "in-flight", "per-minute", "deadline", "max-failures"],
    ...["conductor-log", "lock-wait", "after-finish"],
  ],
  boot: ["tftp-root", "from", "served-as", "node", "key-file"],
  finish: [...TARGET, "node", "in-flight", "lock-wait"],
  host: [
    ...["nova-bm-db", "nova-db", "nova-api-db", "ironic-db", "ironic-url", "os-cloud"],
    ...["os-cacert", "insecure", "api-timeout", "nova-conf", "tftp-root"],
    ...["tftp-from", "root-uuid", "my-ip"],
  ],
  node: [
    ...["ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout", "in-flight"],
    ...["nova-db", "placement"],
  ],
  // No word that let apply do something dangerous is passed on to it.
  rollback: [...TARGET, ...NOVA, "node", "in-flight", "lock-wait", "watch", "key-file"],
} as const satisfies { readonly [command: string]: readonly string[] };

export type NextCommand = keyof typeof KEPT;

/** What is the case without a word needs none. */
export const DEFAULTS: {
  readonly [command in NextCommand]?: { readonly [option: string]: unknown };
} = {
  power: { "in-flight": 256, rate: 400, deadline: 60 },
  plan: { "max-unreachable": 0 },
  apply: { "power-max-age": POWER_MAX_AGE, watch: 20 },
  handover: { deadline: 900, "max-failures": 1, "lock-wait": 60 },
  finish: { "lock-wait": 60 },
  rollback: { watch: 20, "lock-wait": 60 },
  run: { "hook-timeout": 300 },
};

/** Seconds for a statement; every command has it. */
export const DB_TIMEOUT = ["db-timeout", 120] as const;

/**
 * The next command for people to copy: it has whatever was given that it wants too, quoted for a shell.
 * Every line that names a next command is made here, so that none loses an option.
 *
 * @param given options as they were given, by yargs's names: `{ run: "m1", novaDb: "file:PATH" }`
 * @param more options where none was given, `{ ironicDb: "DB" }`, and those that the line itself adds
 * @param action the word behind the command's name, of one that has such
 */
export function nextCommand(
  command: NextCommand,
  given: object,
  more: object = {},
  action = "",
): string {
  const options = new Map<string, unknown>(Object.entries(given));
  const added = new Map<string, unknown>(Object.entries(more));
  const kept: readonly string[] = KEPT[command];
  const also = [...added.keys()]
    .map(kebab)
    .filter((name) => name !== "run" && !kept.includes(name));
  const connected = connectedTo(command, options);
  const known = keptOf(options.get("run"));
  // A word that stands for a place is no better than the place.
  const stoodFor = (name: string): unknown => {
    const usual = added.get(camel(name));
    return usual === undefined ? usual : (known.get(CALLED[command]?.[name] ?? name) ?? usual);
  };
  const said = ["run", ...kept, ...also, DB_TIMEOUT[0]].flatMap((name) => {
    const ours = also.includes(name) ? undefined : options.get(camel(name));
    const value = isSaid(command, name, ours) ? ours : (connected(name) ?? stoodFor(name));
    return isSaid(command, name, value)
      ? [{ name, value, words: optionWords(name, value), isInFile: connected(name) !== undefined }]
      : [];
  });
  const inFile = new Set(said.flatMap(({ words, isInFile }) => (isInFile ? words : [])));
  const all = oneBackend(
    command,
    said.flatMap((one) => one.words),
  ).filter((word) => !inFile.has(word));
  const words = withoutKept(command, known, all, said);
  const file = surroundings().connections.get("config");
  const named = file === undefined ? [] : optionWords("config", file);
  return ["nova2ironic", command, ...(action === "" ? [] : [action]), ...words, ...named].join(" ");
}

/** What a run keeps of where everything is. */
function keptOf(run: unknown): ReadonlyMap<string, Connection> {
  const { kept, cwd } = surroundings();
  return (typeof run === "string" ? kept.get(resolve(cwd(), run)) : undefined) ?? new Map();
}

/**
 * Where a run keeps every place that a line names, `--run` says them all; where one is missing or
 * another, the line names them all, as one place of another deployment stands beside none of the run's.
 */
function withoutKept(
  command: NextCommand,
  known: ReadonlyMap<string, Connection>,
  words: readonly string[],
  said: readonly {
    readonly name: string;
    readonly value: unknown;
    readonly words: readonly string[];
  }[],
): readonly string[] {
  if (known.size === 0 || NOTHING_FOR.includes(command)) return words;
  const nameOf = new Map(said.flatMap((one) => one.words.map((word) => [word, one] as const)));
  const isKept = (word: string): boolean => {
    const { name = "", value } = nameOf.get(word) ?? {};
    const option = CALLED[command]?.[name] ?? name;
    const from = (one: unknown): unknown =>
      typeof one === "string" ? absolute(option, one) : (one ?? null);
    return JSON.stringify([known.get(option)].flat()) === JSON.stringify([value].flat().map(from));
  };
  const places = words.filter((word) => {
    const name = nameOf.get(word)?.name;
    return name === undefined || CONNECTIONS.includes(CALLED[command]?.[name] ?? name);
  });
  return places.every(isKept) ? words.filter((word) => !places.includes(word)) : words;
}

/**
 * Where OS_* alone say where Ironic is, the backend has to be named; beside Ironic's database, a cloud
 * stays only where Glance is asked too.
 */
function oneBackend(command: NextCommand, words: readonly string[]): readonly string[] {
  const kept: readonly string[] = KEPT[command];
  if (!kept.includes("via")) return words;
  if (words.some((word) => word.startsWith("--ironic-db "))) {
    const asks = /^--deploy-(kernel|ramdisk) 'name:/;
    if (words.some((word) => asks.test(word) || / name:/.test(word))) return words;
    return words.filter((word) => !/^--(os-cloud |os-cacert |insecure$|api-timeout )/.test(word));
  }
  const named = words.some((word) => /^--(via|os-cloud|ironic-url) /.test(word));
  return named ? words : [...words, "--via rest"];
}

function isSaid(command: NextCommand, name: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  const usual = name === DB_TIMEOUT[0] ? DB_TIMEOUT[1] : DEFAULTS[command]?.[name];
  return value !== usual;
}

/** The options of a command whose words a file of connections has by another name. */
export const CALLED: {
  readonly [command: string]: { readonly [option: string]: string } | undefined;
} = { boot: { "tftp-root": "conductor-tftp-root" } };

/** What the file of connections gives an option, where the words given say nothing else. */
function connectedTo(
  command: NextCommand,
  words: ReadonlyMap<string, unknown>,
): (name: string) => Connection | undefined {
  const { connections } = surroundings();
  const inFile = (name: string): Connection | undefined =>
    connections.get(CALLED[command]?.[name] ?? name);
  const isOther = (name: string): boolean => {
    const ours = words.get(camel(name));
    return (
      ours !== undefined && JSON.stringify([ours].flat()) !== JSON.stringify([inFile(name)].flat())
    );
  };
  const isGiven = (name: string): boolean => words.get(camel(name)) !== undefined;
  // Where Ironic is, is said as a whole, and so is Nova.
  const elsewhere =
    BACKENDS.some(isOther) ||
    (BACKENDS.some(isGiven) && connections.has("ironic-db") && !isGiven("ironic-db"));
  const apart = BESIDE.some(isOther);
  const target: readonly string[] = TARGET;
  return (name) =>
    isOther(name) || (elsewhere && target.includes(name)) || (apart && BESIDE.includes(name))
      ? undefined
      : inFile(name);
}

function optionWords(name: string, value: unknown): readonly string[] {
  if (value === true) return [`--${name}`];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    const word = shellWord(withoutSecret(String(one)));
    // One that begins as an option does would be read as one.
    return String(one).startsWith("-") ? `--${name}=${word}` : `--${name} ${word}`;
  });
}

/** An address with a password is refused before any command runs; should one come here, it stays here. */
export function withoutSecret(word: string): string {
  return /:\/\/(?:[^/@]*:[^@]*@|.*[?&][^=]*(?:pass|pwd))/is.test(word) ? "DB" : word;
}

/** What of the words was said, by yargs's names. @param names of options */
export function pick(
  words: object,
  names: readonly string[],
): { readonly [name: string]: unknown } {
  const wanted = new Set(names.map(camel));
  const said = Object.entries(words).filter(
    ([name, word]) => wanted.has(name) && word !== undefined,
  );
  return Object.fromEntries(said);
}

export function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
