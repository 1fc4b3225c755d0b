import { type NextCommand, nextCommand } from "./next.ts";

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
  /** Options as status was given them, and those the run's files tell, for the next command. */
  readonly given?: { readonly run: string; readonly novaDb?: string; readonly keyFile?: string };
}

/** A command that comes next, before it is put into words. */
export interface Step {
  readonly command: NextCommand;
  readonly options?: { readonly yes?: true; readonly leaveNova?: true; readonly takeover?: true };
  /** Options for Nova's databases; absent where the command does without. */
  readonly nova?: object;
  /** What else is to be said, in brackets. */
  readonly note?: string;
}

const NOVA = { novaDb: "DB" };
export const EXTRACT: Step = { command: "extract", nova: NOVA };
export const PLAN: Step = { command: "plan", nova: NOVA };
export const POWER: Step = { command: "power" };

/** A step in words: with what was given and is known, and DB for what is not. */
export function wordsOf(
  { command, options, nova, note }: Step,
  said: Said | undefined,
  staged: boolean,
): string {
  const { given = { run: "RUN" }, release, rest = false } = said ?? {};
  const { run, keyFile } = given;
  // Options for Nova go only where the command is to look at it.
  const kept = nova === undefined ? { run, keyFile } : given;
  const target = rest ? { ironicUrl: "URL" } : { ironicDb: "DB" };
  const known: { readonly [command in NextCommand]?: object } = {
    extract: { novaBmDb: "DB" },
    power: {},
    plan: {
      ...{ ...target, ironicRelease: release, site: said?.site },
      ...{ allowPairing: said?.allowPairing === true },
    },
    apply: { ...target, staged },
    release: { ironicDb: "DB" },
  };
  const words = nextCommand(command, kept, { ...(known[command] ?? target), ...nova, ...options });
  return note === undefined ? words : `${words}  (${note})`;
}
