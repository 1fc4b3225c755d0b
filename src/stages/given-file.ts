import { resolve } from "node:path";
import { type RunFolder, readNote, writeNote } from "../edge/disk/run-folder.ts";
import { isObject, type Json } from "../model/json.ts";
import { type Given, givenOf, isWord, onlyKept, withGiven, wordsFor } from "./given.ts";
import { KEPT, type NextCommand } from "./next.ts";

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

const FILES: readonly string[] = ["site", "key-file", "os-cacert", "conductor-log"];
/** `[HOST=]PATH`. */
const OF_HOSTS: readonly string[] = ["nova-conf", "tftp-root"];

/** Whoever reads it may stand in another folder. */
function absolute(option: string, word: string): string {
  if (FILES.includes(option)) return resolve(word);
  if (OF_HOSTS.includes(option)) {
    const path = word.slice(word.indexOf("=") + 1);
    return `${word.slice(0, word.length - path.length)}${resolve(path)}`;
  }
  if (/^sqlite:\/\/\/[^/]/.test(word))
    return `sqlite:///${resolve(word.slice("sqlite:///".length))}`;
  const [, form, paths] = /^(file|conf):(.+)$/s.exec(option.endsWith("-db") ? word : "") ?? [];
  if (form === undefined || paths === undefined) return word;
  const each = form === "conf" ? paths.split(",") : [paths];
  return `${form}:${each.map((path) => resolve(path)).join(",")}`;
}
