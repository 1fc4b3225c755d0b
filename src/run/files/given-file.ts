import { isObject, type Json } from "../../lib/json.ts";
import {
  connectionOf,
  connectionsIn,
  type Given,
  givenOf,
  isWord,
  onlyKept,
  type Word,
  withGiven,
  wordsFor,
} from "../given.ts";
import { readKept, writeKept } from "../kept.ts";
import { BACKENDS, KEPT, type NextCommand, TARGET } from "../next.ts";
import { absolute } from "../paths.ts";
import type { Connection } from "../process-context.ts";
import { isRehearsed } from "../run.ts";
import { type RunFolder, readNote, writeNote } from "./run-folder.ts";

const FILE = "given.json";
const FORMAT = "nova2ironic/given@1";

/**
 * Keeps what a command was given: where everything is in `connections.yaml`, for every later command,
 * and the rest in `given.json`, so that `status` can name the next one whole. Called once everything
 * that was named is open: what is refused before is not worth repeating.
 *
 * @param begun it may still be refused, and is recorded once more at its end
 * @throws MigrationError N2I-E120
 */
export async function rememberGiven(
  run: RunFolder,
  command: NextCommand,
  args: object,
  begun = false,
): Promise<void> {
  // The databases that are named have copies in their place: nobody is to go on from here.
  if (isRehearsed()) return;
  const [earlier, kept] = [await readGiven(run), await readKept(run.path)];
  const now = givenOf(command, args, absolute);
  const given = withGiven(earlier, now, begun);
  const known = connectionsIn(earlier);
  const elsewhere = BACKENDS.some((option) => option in now.options);
  // What nobody gave a command, a person wrote there.
  const own = [...kept].filter(
    ([name]) => !(known.has(name) || (elsewhere && TARGET.some((one) => one === name))),
  );
  await writeKept(run, new Map([...own, ...connectionsIn(given)]));
  const words: Json = given.map((one) => ({
    command: one.command,
    ...divided(one),
  }));
  await writeNote(run, FILE, { format: FORMAT, given: words });
}

/**
 * What is kept now, to be put back where a command is refused for its words once it has begun: no later one is to
 * be given them again.
 *
 * @returns puts it back. @throws MigrationError N2I-E120
 */
export async function givenSoFar(run: RunFolder): Promise<() => Promise<void>> {
  const [note, kept] = [await readNote(run, FILE), await readKept(run.path)];
  return async () => {
    if (isRehearsed()) return;
    await writeKept(run, kept);
    await writeNote(run, FILE, note ?? { format: FORMAT, given: [] });
  };
}

/** The words of a command, and of those that connections.yaml has the names alone. */
function divided({ command, options }: Given) {
  const all = Object.entries(options) as [string, string | number | true | string[]][];
  const isConnection = (option: string): boolean => connectionOf(command, option) !== null;
  return {
    options: Object.fromEntries(all.filter(([option]) => !isConnection(option))),
    connections: all.map(([option]) => option).filter(isConnection),
  };
}

/** What the run's commands were given, the newest last. */
export async function readGiven(run: RunFolder): Promise<readonly Given[]> {
  const note = await readNote(run, FILE);
  if (!isObject(note) || note.format !== FORMAT || !Array.isArray(note.given)) return [];
  const kept = await readKept(run.path);
  return (note.given as readonly Json[]).flatMap((one) => {
    if (!isObject(one) || !isObject(one.options) || typeof one.command !== "string") return [];
    if (!Object.hasOwn(KEPT, one.command) || !Object.values(one.options).every(isWord)) return [];
    const { command, options } = one as unknown as Given; // looked at
    const named = Array.isArray(one.connections) ? one.connections.map(String) : [];
    const places = named.flatMap((option) => {
      const word = wordOf(kept.get(connectionOf(command, option) ?? ""));
      return word === null ? [] : [[option, word] as const];
    });
    return [onlyKept({ command, options: { ...options, ...Object.fromEntries(places) } })];
  });
}

function wordOf(word: Connection | undefined): Word | null {
  return isWord(word) ? word : null;
}

/** These words, and of those given to the run's commands earlier what this command wants besides. */
export async function withEarlier(
  run: RunFolder,
  command: NextCommand,
  args: object,
): Promise<object> {
  const now = Object.entries(args).filter(([, word]) => isWord(word));
  return { ...wordsFor(command, await readGiven(run)), ...Object.fromEntries(now) };
}
