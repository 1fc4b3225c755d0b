import {
  BACKENDS,
  BESIDE,
  CALLED,
  CONNECTIONS,
  camel,
  DB_TIMEOUT,
  DEFAULTS,
  FOR_STAGES,
  KEPT,
  kebab,
  type NextCommand,
  nextCommand,
  TARGET,
  withoutSecret,
} from "./next.ts";

/** A word as yargs gives it. */
export type Word = string | number | true | readonly string[];

/** What a command of a run was given, by the options' names. */
export interface Given {
  readonly command: NextCommand;
  readonly options: { readonly [option: string]: Word };
}

/** Which machines it was about, and what somebody allowed for one time, is said anew. */
const SAID_ANEW: readonly string[] = [
  ...["node", "host", "only", "list", "leave-nova", "allow-running-compute"],
  ...["allow-queued-requests", "after-finish"],
];

/** What conductors are: whoever said it last is right, whichever command that was. */
const CONDUCTORS: readonly string[] = ["site", "ironic-release", "conductor-ipmitool"];

/** Options that mean the same to every command that has them. */
const SHARED: readonly string[] = [
  ...[...TARGET, ...BESIDE, ...CONDUCTORS, "key-file", "conductor-log", "db-timeout"],
];

/** What was said of the commands that come after it was said of what is no more. */
const VOIDS: { readonly [command in NextCommand]?: readonly NextCommand[] } = {
  plan: ["apply", "handover", "run"],
  apply: ["handover"],
};

const RECORDED: ReadonlySet<string> = new Set<string>([
  ...Object.values(KEPT).flat(),
  DB_TIMEOUT[0],
]);

/**
 * What is kept of a command line for the commands that follow: no secret, and nothing that is so anyway.
 *
 * @param args by yargs's names
 * @param absolute of an option's word, a path in it from the root
 */
export function givenOf(
  command: NextCommand,
  args: object,
  absolute: (option: string, word: string) => string,
): Given {
  const words = new Map<string, unknown>(Object.entries(args));
  const usual = new Map<string, unknown>([DB_TIMEOUT, ...Object.entries(DEFAULTS[command] ?? {})]);
  const options = [...RECORDED].flatMap((option) => {
    const word = words.get(camel(option));
    if (!isWord(word) || !mayBeKept(option, word) || word === usual.get(option)) return [];
    const name = CALLED[command]?.[option] ?? option;
    const kept =
      typeof word === "string"
        ? absolute(name, word)
        : typeof word === "object"
          ? word.map((one) => absolute(name, one))
          : word;
    return [[option, kept] as const];
  });
  return { command, options: Object.fromEntries(options) };
}

export function isWord(value: unknown): value is Word {
  return (
    value === true ||
    typeof value === "number" ||
    typeof value === "string" ||
    (Array.isArray(value) && value.every((one) => typeof one === "string"))
  );
}

/** Of what a file says was given, what could have been kept: a file may be edited. */
export function onlyKept({ command, options }: Given): Given {
  const kept = Object.entries(options).filter(([option, word]) => mayBeKept(option, word));
  return { command, options: Object.fromEntries(kept) };
}

function mayBeKept(option: string, word: Word): boolean {
  const words = (Array.isArray(word) ? word : [word]).map(String);
  return (
    RECORDED.has(option) &&
    !SAID_ANEW.includes(option) &&
    words.every((one) => withoutSecret(one) === one)
  );
}

/**
 * With what was given now, the newest last.
 *
 * @param begun it may still be refused: what it will make void is not yet
 */
export function withGiven(earlier: readonly Given[], now: Given, begun = false): readonly Given[] {
  const gone: readonly NextCommand[] = [now.command, ...(begun ? [] : (VOIDS[now.command] ?? []))];
  return [...earlier.filter(({ command }) => !gone.includes(command)), now];
}

/** What this command is to be given next, by yargs's names: its own words, and others' that it shares. */
export function wordsFor(
  command: NextCommand,
  given: readonly Given[],
): { readonly [name: string]: Word } {
  const others = given.filter((one) => one.command !== command);
  const words = new Map<string, Word>();
  for (const { options } of others) put(words, options, SHARED);
  for (const { command: by, options } of given)
    if (by === command) put(words, options, [...RECORDED]);
    else if (by === "run") put(words, options, forStage(command));
  for (const { options } of given) put(words, options, CONDUCTORS);
  return Object.fromEntries([...words].map(([option, word]) => [camel(option), word]));
}

function forStage(command: NextCommand): readonly string[] {
  return command === "power" || command === "plan" ? FOR_STAGES[command] : [];
}

/**
 * What `run` is given for its plan, and this plan was made without.
 *
 * @param args by yargs's names
 */
export function newForPlan(
  args: object,
  { earlier = [], allowPairing, besideOthers }: Partial<Said> = {},
): readonly string[] {
  const made: Given["options"] = {
    // What the plan itself says outlives a lost given.json.
    ...(allowPairing === true && { "allow-pairing": true }),
    ...(besideOthers === true && { "beside-others": true }),
    ...earlier.find(({ command }) => command === "plan")?.options,
  };
  const { options } = givenOf("plan", args, (_option, word) => word);
  return FOR_STAGES.plan.filter(
    (name) => name in options && JSON.stringify(options[name]) !== JSON.stringify(made[name]),
  );
}

/** How connections.yaml calls an option of a command; null where it is no connection. */
export function connectionOf(command: NextCommand, option: string): string | null {
  const name = CALLED[command]?.[option] ?? option;
  return CONNECTIONS.includes(name) ? name : null;
}

/** Where everything is, by what a run's commands were given: the newest word of each. */
export function connectionsIn(given: readonly Given[]): ReadonlyMap<string, Word> {
  const words = new Map<string, Word>();
  for (const { command, options } of given) {
    const named = Object.entries(options).flatMap(([option, word]) => {
      const name = connectionOf(command, option);
      return name === null ? [] : [[name, word] as const];
    });
    put(words, Object.fromEntries(named), CONNECTIONS);
  }
  return words;
}

/** Where Ironic is, is said as a whole: nothing of another way there is left. */
function put(words: Map<string, Word>, options: Given["options"], names: readonly string[]): void {
  const asked = Object.entries(options).filter(([option]) => names.includes(option));
  if (asked.some(([option]) => BACKENDS.includes(option)))
    for (const option of TARGET) words.delete(option);
  for (const [option, word] of asked) words.set(option, word);
}

/** What stands for the way to Ironic in a line, where these words do not say it. */
export function backendOf(words: object, rest = false): object {
  if (BACKENDS.some((option) => camel(option) in words)) return {};
  return rest ? { ironicUrl: "URL" } : { ironicDb: "DB" };
}

/** What the run's files know of earlier command lines, and the words of this one. */
export interface Said {
  /** Path of the site document that power was given. */
  readonly site: string | null;
  readonly allowPairing: boolean;
  /** By the plan's header. */
  readonly besideOthers?: boolean;
  /** Whether there are power readings that the plan did not reject. */
  readonly asked: boolean;
  /** The release that was planned for or asked for; undefined where nothing but the default was. */
  readonly release?: string | undefined;
  /** Whether the plan is for Ironic's API. */
  readonly rest?: boolean;
  /** Options as status was given them. */
  readonly given?: {
    readonly run: string;
    readonly novaDb?: string;
    readonly placementDb?: string;
  };
  /** What the run's commands were given, the newest last. */
  readonly earlier?: readonly Given[];
  /** Whether a key of --key-file sealed the run. */
  readonly sealedElsewhere?: boolean;
}

/** A command that comes next, before it is put into words. */
export interface NextStep {
  readonly command: NextCommand;
  readonly options?: {
    readonly yes?: true;
    readonly leaveNova?: true;
    readonly takeover?: true;
    readonly final?: true;
    readonly drop?: true;
    readonly afterFinish?: true;
  };
  /** Options for Nova's databases; absent where the command does without. */
  readonly nova?: object;
  /** What else is to be said, in one line: behind it, as a shell's comment. */
  readonly note?: string;
  /** Why its file, where there is one, is made again. */
  readonly again?: string;
  /** What follows where it finds nothing. */
  readonly after?: NextStep;
}

/** A step in words: with what was given and is known, and DB for what is not. */
export function wordsOf(step: NextStep, said: Said | undefined, staged: boolean): string {
  const { command, note } = step;
  const { run, words, more } = optionsOf(step, said, staged);
  const line = nextCommand(command, { run, ...words }, more);
  return note === undefined ? line : `${line}  # ${note}`;
}

/** What a step is given besides what the run's connections say, by the options' names. */
export function decisionsOf(
  step: NextStep,
  said: Said | undefined,
  staged: boolean,
): { readonly [option: string]: unknown } {
  const { words, more } = optionsOf(step, said, staged);
  const own = Object.entries({ ...more, ...words, ...step.options }).flatMap(([name, word]) => {
    const option = kebab(name);
    return connectionOf(step.command, option) === null && word !== undefined
      ? [[option, word] as const]
      : [];
  });
  return Object.fromEntries(own);
}

/** What was given, and what stands in where it was not. */
function optionsOf(
  { command, options, nova }: NextStep,
  said: Said | undefined,
  staged: boolean,
): { readonly run: string; readonly words: object; readonly more: object } {
  const { given = { run: "RUN" }, release, rest = false, sealedElsewhere = false } = said ?? {};
  const words = wordsGiven(command, said, (option) => {
    // Options for Nova go only where the command is to look at it.
    if (BESIDE.includes(option)) return nova !== undefined;
    return option !== "conductor-log" || command !== "verify" || options?.takeover === true;
  });
  const target = backendOf(words, rest);
  const known: { readonly [command in NextCommand]?: object } = {
    extract: { novaBmDb: "DB" },
    power: {},
    plan: {
      ...{ ...target, ironicRelease: release, site: said?.site },
      ...{ allowPairing: said?.allowPairing === true },
    },
    apply: { ...target, staged },
    handover: backendOf(words),
  };
  const wants: readonly string[] = KEPT[command];
  const key = sealedElsewhere && wants.includes("key-file") && { keyFile: "FILE" };
  return {
    ...{ run: given.run, words },
    more: { ...key, ...(known[command] ?? target), ...nova, ...options },
  };
}

/** What was given to the run's commands, and on top what status was given. */
function wordsGiven(
  command: NextCommand,
  { given, earlier = [] }: Partial<Said> = {},
  wanted: (option: string) => boolean,
): { readonly [name: string]: unknown } {
  const usual = ([name, word]: readonly [string, unknown]): boolean =>
    word === undefined || (name === camel(DB_TIMEOUT[0]) && word === DB_TIMEOUT[1]);
  const now = Object.entries(given ?? {}).filter((one) => !usual(one));
  const words: { [name: string]: unknown } = {
    ...wordsFor(command, earlier),
    ...Object.fromEntries(now),
  };
  for (const option of [...BESIDE, "conductor-log"])
    if (!wanted(option)) delete words[camel(option)];
  return words;
}
