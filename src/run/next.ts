import { resolve } from "node:path";
import { shellWord } from "../lib/text.ts";
import { surroundings } from "./process-context.ts";

/** Options that say where Ironic is and how to reach it. */
export const TARGET: readonly string[] = [
  ...["ironic-db", "via", "os-cloud", "ironic-url", "os-cacert", "insecure", "api-timeout"],
];
export const BACKENDS: readonly string[] = ["ironic-db", "via", "os-cloud", "ironic-url"];
/** Options of Nova's side; a command that does not look at it is given none of them. */
export const BESIDE: readonly string[] = ["nova-db", "nova-api-db", "placement-db"];

/** How flavors get their deploy images: given as a whole. */
export const IMAGES: readonly string[] = ["flavor-images", "deploy-kernel", "deploy-ramdisk"];
/** Options that a command without Nova's database does not take. */
export const WITH_NOVA: readonly string[] = [...BESIDE, "compute-host", ...IMAGES, "flavor"];

/** Options with a location, as mappings/schema/connections.schema.json has them. */
export const CONNECTIONS: readonly string[] = [
  ...["nova-bm-db", ...BESIDE, ...TARGET, "nova-conf", "tftp-root", "conductor-tftp-root"],
  ...["site", "key-file", "ironic-release", "conductor-ipmitool", "conductor-log"],
  ...["compute-log", "compute-host", "ironic-conf"],
];
/** Databases and services: a command line that names another than the run's gets none of the run's with it. */
export const PLACES: readonly string[] = ["nova-bm-db", ...BACKENDS, ...BESIDE];
/** Options that it gets all the same. */
export const FOR_ALL: readonly string[] = [
  ...["site", "key-file", "ironic-release", "conductor-ipmitool", ...TARGET, "nova-bm-db"],
];
/** Commands that compare a database with the plan, or with what was loaded by it: another one is refused. */
export const PLANNED_FOR: readonly string[] = [
  ...["apply", "verify", "boot", "handover", "finish", "retire", "rollback"],
];

/** Options that `run` takes for its stages. */
export const FOR_STAGES = {
  power: ["rate"],
  plan: [
    ...["flavor-images", "deploy-kernel", "deploy-ramdisk", "flavor", "allow-pairing"],
    ...["allow-other-nodes", "max-unreachable", "record-power"],
  ],
  handover: ["per-minute"],
} as const;

/** Options of a command that a run saves as its decisions. */
export const DECISIONS: { readonly [command: string]: readonly string[] | undefined } = {
  power: [...FOR_STAGES.power, "in-flight", "deadline"],
  plan: FOR_STAGES.plan,
  handover: FOR_STAGES.handover,
  run: Object.values(FOR_STAGES).flat(),
  host: ["tftp-from", "root-uuid", "my-ip"],
};
export const ALL_DECISIONS: ReadonlySet<string> = new Set(
  Object.values(DECISIONS).flatMap((names = []) => names),
);

/**
 * A database or service that is another than the saved one; the options of Ironic's location are one.
 *
 * @param isOther whether the option is given and is another
 */
export function otherPlace(
  saved: ReadonlyMap<string, unknown>,
  isOther: (name: string) => boolean,
): string | null {
  const ironic = BACKENDS.some((name) => saved.has(name));
  const isSaved = (name: string): boolean => saved.has(name) || (ironic && BACKENDS.includes(name));
  return PLACES.find((name) => isSaved(name) && isOther(name)) ?? null;
}

/** Whether an option is a decision that this command does not take from the run. */
export function isUnusedDecision(command: string, option: string): boolean {
  const isUsed =
    Object.hasOwn(FOR_STAGES, command) && DECISIONS[command]?.includes(option) === true;
  return ALL_DECISIONS.has(option) && !isUsed;
}

/** Options of boot that say which tree it is about: conductors may have one each. */
export const TREE: readonly string[] = ["tftp-root", "from", "served-as", "node"];

/** The options of a command that a file of connections has by another name. */
export const CALLED: {
  readonly [command: string]: { readonly [option: string]: string } | undefined;
} = { boot: { "tftp-root": "conductor-tftp-root" } };

export type NextCommand =
  | ("extract" | "power" | "plan" | "apply" | "verify" | "status" | "run" | "handover")
  | ("boot" | "finish" | "host" | "node" | "rollback" | "show");

export interface NextStep {
  readonly command: NextCommand;
  /** Options that choose what the command does. */
  readonly options?: {
    readonly yes?: true;
    readonly leaveNova?: true;
    readonly skipBlocked?: true;
    readonly takeover?: true;
    readonly final?: true;
    readonly afterFinish?: true;
    readonly all?: true;
    readonly node?: readonly string[];
    readonly novaDb?: "DB";
  };
  /** Text for people in one line; it follows the command as a shell comment. */
  readonly note?: string;
  /** Why its file, where there is one, is made again. */
  readonly again?: string;
  /** The step that follows if this one finds no difference. */
  readonly after?: NextStep;
}

/**
 * A command line for people to copy, quoted for a shell. The run has the locations and decisions: a line has only
 * the options that choose what the command does.
 *
 * @param choices these options, by yargs's names
 * @param action the word after the command's name, of a command with actions
 */
export function nextCommand(
  command: NextCommand,
  { run }: { readonly run: string },
  choices: object = {},
  action = "",
): string {
  const options = Object.entries<unknown>({ run, ...choices }).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : optionWords(kebab(name), value),
  );
  // No plan is made before this option is given once.
  const target = command === "plan" && !isTargetKnown(run) ? ["--ironic-db DB"] : [];
  return ["nova2ironic", command, action, ...options, ...target]
    .filter((text) => text !== "")
    .join(" ");
}

/** Whether the run, or the file of connections, says where Ironic is. */
function isTargetKnown(run: string): boolean {
  const { saved, connections, cwd } = surroundings();
  const found = [connections, saved.get(resolve(cwd(), run))];
  return BACKENDS.some((name) => found.some((one) => one?.has(name) === true));
}

function optionWords(name: string, value: unknown): readonly string[] {
  if (value === true) return [`--${name}`];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    const text = shellWord(withoutSecret(String(one)));
    // A value that begins as an option does would be read as an option.
    return String(one).startsWith("-") ? `--${name}=${text}` : `--${name} ${text}`;
  });
}

/** An address with a password is refused before any command runs; if one gets here, it is not printed. */
export function withoutSecret(word: string): string {
  return /:\/\/(?:[^/@]*:[^@]*@|.*[?&][^=]*(?:pass|pwd))|\bhttps?:\/\/[^/@?#]+@/is.test(word)
    ? "DB"
    : word;
}

/** The options among these that have a value, by yargs's names. @param names of options */
export function pick<T extends object>(args: T, names: readonly string[]): Partial<T> {
  const all = new Map<string, unknown>(Object.entries(args));
  const found = names.map((name) => [camel(name), all.get(camel(name))] as const);
  // Some of its own entries.
  return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Partial<T>;
}

export function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
