import { BESIDE, backendOf, type Given, wordsFor } from "./given.ts";
import { camel, DB_TIMEOUT, type NextCommand, nextCommand } from "./next.ts";

/** What the run's files know of earlier command lines, and the words of this one. */
export interface Said {
  /** Path of the site document that power was given. */
  readonly site: string | null;
  readonly allowPairing: boolean;
  /** Whether there are power readings. */
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
  /** What the run's commands were given, the newest last; none in runs of earlier versions. */
  readonly earlier?: readonly Given[];
  /** Whether a key of --key-file sealed the run. */
  readonly sealedElsewhere?: boolean;
}

/** A command that comes next, before it is put into words. */
export interface NextStep {
  readonly command: NextCommand;
  readonly options?: { readonly yes?: true; readonly leaveNova?: true; readonly takeover?: true };
  /** Options for Nova's databases; absent where the command does without. */
  readonly nova?: object;
  /** What else is to be said, in brackets. */
  readonly note?: string;
}

/** A step in words: with what was given and is known, and DB for what is not. */
export function wordsOf(
  { command, options, nova, note }: NextStep,
  said: Said | undefined,
  staged: boolean,
): string {
  const { given = { run: "RUN" }, release, rest = false } = said ?? {};
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
  const more = { ...(known[command] ?? target), ...nova, ...options };
  const line = nextCommand(command, { run: given.run, ...words }, more);
  return note === undefined ? line : `${line}  (${note})`;
}

/** What was given to the run's commands, and on top what status was given. */
function wordsGiven(
  command: NextCommand,
  { given, earlier = [], sealedElsewhere = false }: Partial<Said> = {},
  wanted: (option: string) => boolean,
): { readonly [name: string]: unknown } {
  const usual = ([name, word]: readonly [string, unknown]): boolean =>
    word === undefined || (name === camel(DB_TIMEOUT[0]) && word === DB_TIMEOUT[1]);
  const now = Object.entries(given ?? {}).filter((one) => !usual(one));
  const words: { [name: string]: unknown } = {
    ...(sealedElsewhere && { keyFile: "FILE" }),
    ...wordsFor(command, earlier),
    ...Object.fromEntries(now),
  };
  for (const option of [...BESIDE, "conductor-log"])
    if (!wanted(option)) delete words[camel(option)];
  return words;
}
