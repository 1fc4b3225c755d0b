import { resolve } from "node:path";
import { shellArgument } from "../lib/text.ts";
import { processContext } from "./process-context.ts";

const BACKENDS = ["ironic-db", "via", "os-cloud", "ironic-url"];
const TARGET = [...BACKENDS, "os-cacert", "insecure", "api-timeout"];
const NOVA = ["nova-db", "nova-api-db", "placement-db"];
const IMAGES = ["flavor-images", "deploy-kernel", "deploy-ramdisk"];

/** Options of `run` for its stages. */
export const FOR_STAGES = {
  power: ["rate"],
  plan: [
    ...IMAGES,
    "flavor",
    "allow-pairing",
    "allow-other-nodes",
    "max-unreachable",
    "record-power",
  ],
  handover: ["per-minute"],
};

/** Options that a run saves as decisions, by command. */
const DECISIONS: { readonly [command: string]: readonly string[] | undefined } = {
  power: [...FOR_STAGES.power, "in-flight", "deadline"],
  plan: FOR_STAGES.plan,
  handover: FOR_STAGES.handover,
  run: Object.values(FOR_STAGES).flat(),
  host: ["tftp-from", "root-uuid", "my-ip"],
};

/** Names of options by use. */
export const OPTIONS = {
  /** The backend of Ironic, and all connection options of Ironic. */
  ...{ backends: BACKENDS, target: TARGET },
  /** Databases of Nova, and options that need Nova's database. */
  ...{ nova: NOVA, withNova: [...NOVA, "compute-host", ...IMAGES, "flavor"] },
  /** Deploy images in flavors, which are given together. */
  images: IMAGES,
  /** Options with a location, as in mappings/schema/connections.schema.json. */
  connections: [
    ...["nova-bm-db", ...NOVA, ...TARGET, "nova-conf", "tftp-root", "conductor-tftp-root"],
    ...["site", "key-file", "ironic-release", "conductor-ipmitool", "conductor-log"],
    ...["compute-log", "compute-host", "ironic-conf"],
  ],
  /** Databases and services. A command line with another one inherits no options of the run. */
  locations: ["nova-bm-db", ...BACKENDS, ...NOVA],
  /** Options that such a command line inherits anyway. */
  inherited: [
    ...["site", "key-file", "ironic-release", "conductor-ipmitool", ...TARGET, "nova-bm-db"],
  ],
  decisions: new Set(Object.values(DECISIONS).flatMap((names = []) => names)),
  decisionsOf: (command: string) => DECISIONS[command] ?? [],
};

/** Commands that compare a database with the plan. They refuse another database. */
export const PLANNED_FOR: readonly string[] = [
  ...["apply", "verify", "boot", "handover", "finish", "retire", "rollback"],
];

/**
 * An option whose database or service differs from the saved one. The options of Ironic's location
 * count as one.
 * @param isOther whether the option is given and differs
 */
export function otherLocation(
  saved: ReadonlyMap<string, unknown>,
  isOther: (name: string) => boolean,
): string | null {
  const ironic = BACKENDS.some((name) => saved.has(name));
  const isSaved = (name: string): boolean => saved.has(name) || (ironic && BACKENDS.includes(name));
  return OPTIONS.locations.find((name) => isSaved(name) && isOther(name)) ?? null;
}

/** Whether an option is a decision that this command does not read from the run. */
export function isUnusedDecision(command: string, option: string): boolean {
  const isUsed =
    Object.hasOwn(FOR_STAGES, command) && DECISIONS[command]?.includes(option) === true;
  return OPTIONS.decisions.has(option) && !isUsed;
}

/** Options of boot that select a tree, because conductors may have different trees. */
export const TREE: readonly string[] = ["tftp-root", "from", "served-as", "node"];

/** The name of an option in a file of connections. */
export function savedName(command: string, option: string): string {
  return command === "boot" && option === "tftp-root" ? "conductor-tftp-root" : option;
}

export type NextCommand =
  | ("extract" | "power" | "plan" | "apply" | "verify" | "status" | "run" | "handover")
  | ("boot" | "finish" | "host" | "node" | "rollback" | "show");

export interface NextStep {
  readonly command: NextCommand;
  /** Options that change the action of the command. */
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
  /** One line for people, appended as a shell comment. */
  readonly note?: string;
  /** Why an existing file must be written again. */
  readonly again?: string;
  /** Next step if this one finds no difference. */
  readonly after?: NextStep;
}

/**
 * A command line to copy, quoted for a shell. It omits locations and decisions, which the run has.
 * @param choices other options, by yargs's names
 * @param action second word of the command
 */
export function nextCommand(
  command: NextCommand,
  { run }: { readonly run: string },
  choices: object = {},
  action = "",
): string {
  const options = Object.entries<unknown>({ run, ...choices }).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : optionArguments(kebab(name), value),
  );
  // No plan was made without this option.
  const target = command === "plan" && !hasTargetOptions(run) ? ["--ironic-db DB"] : [];
  return ["nova2ironic", command, action, ...options, ...target]
    .filter((text) => text !== "")
    .join(" ");
}

/** Whether the run or a file of connections has the location of Ironic. */
function hasTargetOptions(run: string): boolean {
  const { saved, connections, cwd } = processContext();
  const found = [connections, saved.get(resolve(cwd(), run))];
  return BACKENDS.some((name) => found.some((one) => one?.has(name) === true));
}

function optionArguments(name: string, value: unknown): readonly string[] {
  if (value === true) return [`--${name}`];
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    const text = shellArgument(withoutSecret(String(one)));
    // A value with a leading dash would be read as an option.
    return String(one).startsWith("-") ? `--${name}=${text}` : `--${name} ${text}`;
  });
}

/** Never prints an address with a password, which every command refuses. */
export function withoutSecret(text: string): string {
  return /:\/\/(?:[^/@]*:[^@]*@|.*[?&][^=]*(?:pass|pwd))|\bhttps?:\/\/[^/@?#]+@/is.test(text)
    ? "DB"
    : text;
}

/** The given options with their values, by yargs's names. @param names of options */
export function pick<T extends object>(args: T, names: readonly string[]): Partial<T> {
  const all = new Map<string, unknown>(Object.entries(args));
  const found = names.map((name) => [camel(name), all.get(camel(name))] as const);
  // A subset of the entries of T.
  return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Partial<T>;
}

export function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const FILES: readonly string[] = [
  "run",
  "site",
  "key-file",
  "os-cacert",
  "conductor-log",
  "compute-log",
  "ironic-conf",
  "conductor-tftp-root",
];
/** `[HOST=]PATH`. */
const OF_HOSTS: readonly string[] = ["nova-conf", "tftp-root", "tftp-from"];

/** Absolute, because a reader may have another working directory. @param from base folder */
export function absolute(option: string, value: string, from = processContext().cwd()): string {
  if (FILES.includes(option)) return resolve(from, value);
  if (OF_HOSTS.includes(option)) {
    const path = value.slice(value.indexOf("=") + 1);
    return `${value.slice(0, value.length - path.length)}${resolve(from, path)}`;
  }
  if (/^sqlite:\/\/\/[^/]/.test(value))
    return `sqlite:///${resolve(from, value.slice("sqlite:///".length))}`;
  const [, form, paths] = /^(file|conf):(.+)$/s.exec(option.endsWith("-db") ? value : "") ?? [];
  if (form === undefined || paths === undefined) return value;
  const each = form === "conf" ? paths.split(",") : [paths];
  return `${form}:${each.map((path) => resolve(from, path)).join(",")}`;
}
