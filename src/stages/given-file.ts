import { type RunFolder, readNote, writeNote } from "../edge/disk/run-folder.ts";
import { isObject, type Json } from "../model/json.ts";
import { type Given, givenOf, isWord, onlyKept, withGiven, wordsFor } from "./given.ts";
import { KEPT, type NextCommand } from "./next.ts";
import { absolute } from "./paths.ts";

const FILE = "given.json";
const FORMAT = "nova2ironic/given@1";

/**
 * Keeps what a command was given, so that `status` can name the next one whole. Called once everything
 * that was named is open: what is refused before is not worth repeating.
 *
 * @param begun it may still be refused, and is told of once more at its end
 * @throws MigrationError N2I-E120
 */
export async function rememberGiven(
  run: RunFolder,
  command: NextCommand,
  args: object,
  begun = false,
): Promise<void> {
  const given = withGiven(await readGiven(run), givenOf(command, args, absolute), begun);
  await writeNote(run, FILE, { format: FORMAT, given: given as unknown as Json }); // words alone
}

/** What the run's commands were given, the newest last. */
export async function readGiven(run: RunFolder): Promise<readonly Given[]> {
  const note = await readNote(run, FILE);
  if (!isObject(note) || note.format !== FORMAT || !Array.isArray(note.given)) return [];
  return (note.given as readonly Json[]).flatMap((one) => {
    if (!isObject(one) || !isObject(one.options) || typeof one.command !== "string") return [];
    if (!Object.hasOwn(KEPT, one.command) || !Object.values(one.options).every(isWord)) return [];
    return [onlyKept(one as unknown as Given)]; // looked at
  });
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
