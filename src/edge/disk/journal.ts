import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { constants, type FileHandle, open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../model/error.ts";
import type { Entry } from "../../model/journal.ts";
import { shellWord } from "../../model/text.ts";
import { parseObject } from "./artefact-form.ts";
import { contentOf, notRead, notWritten } from "./failure.ts";
import { journalFault, parseEntry } from "./journal-entry.ts";
import type { RunFolder } from "./run-folder.ts";
import { syncFolder } from "./temp-file.ts";

/** In the run's folder; all parts share it. */
const JOURNAL = "journal.jsonl";

/** What was begun and what was done, in order. Each line names the digest of the one before. */
export interface Journal {
  readonly path: string;
  /** Whether a last line that a crash left unfinished was cut off at opening. */
  readonly torn: boolean;
  /** Those found at opening and those appended since. */
  readonly entries: () => readonly Entry[];
  /**
   * Adds an entry; once this resolves, a power cut keeps it. Calls may overlap, the order is that
   * of the calls. After one failure all fail: nobody knows what the disk holds.
   *
   * @throws MigrationError N2I-E120
   */
  readonly append: (entry: Entry) => Promise<void>;
  readonly close: () => Promise<void>;
}

const BEGINNING = '{"do":"open"';
/** Bytes that still are one string of V8; 100,000 machines come to a half of it. */
const LARGEST = 500 * 1024 * 1024;
const NONE_BEFORE = "0".repeat(16);

/**
 * The run's journal, made when it is missing. Only the holder of the run's lock opens it.
 *
 * @throws MigrationError N2I-E112 when its chain is broken, N2I-E113 when it is another file, N2I-E222 when the run is a copy, N2I-E120
 */
export async function openJournal(run: RunFolder): Promise<Journal> {
  const path = join(run.path, JOURNAL);
  let handle: FileHandle | undefined;
  try {
    const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
    handle = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
    await syncFolder(run.path);
    const found = parseJournal(await contentOf(handle, path, "a journal", LARGEST), path);
    await checkPlace(run);
    if (found.torn) {
      await handle.truncate(found.bytes);
      await handle.sync();
    }
    return journalOn(handle, path, found);
  } catch (cause) {
    await handle?.close();
    throw notWritten(path, cause);
  }
}

interface Read {
  readonly entries: readonly Entry[];
  readonly torn: boolean;
}

/**
 * What the run's journal says; nothing is written. No file: no entries.
 *
 * @throws MigrationError N2I-E110, N2I-E112, N2I-E113
 */
export async function readJournal(run: Pick<RunFolder, "path">): Promise<Read> {
  const path = join(run.path, JOURNAL);
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return parseJournal(await contentOf(handle, path, "a journal", LARGEST), path);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return { entries: [], torn: false };
    throw notRead(path, cause);
  } finally {
    await handle?.close();
  }
}

function journalOn(handle: FileHandle, path: string, found: Parsed): Journal {
  const entries = [...found.entries];
  let prev = found.prev;
  let last: Promise<void> = Promise.resolve();

  const put = async (entry: Entry): Promise<void> => {
    if (entries.length === 0 && entry.do !== "open") {
      throw new Error("a journal begins with its open entry");
    }
    const { do: doing, ...rest } = entry;
    const line = JSON.stringify({ do: doing, ...rest, prev });
    try {
      await handle.appendFile(`${line}\n`);
      await handle.datasync();
    } catch (cause) {
      throw notWritten(path, cause);
    }
    prev = digest(line);
    entries.push(entry);
  };
  return {
    path,
    torn: found.torn,
    entries: () => entries,
    append(entry) {
      last = last.then(() => put(entry)); // once rejected, it stays so: see append
      last.catch(() => undefined); // the caller is told
      return last;
    },
    async close() {
      await last.catch(() => undefined);
      await handle.close();
    },
  };
}

interface Parsed extends Read {
  /** Of the whole lines. */
  readonly bytes: number;
  /** What the next line names as the one before. */
  readonly prev: string;
}

function parseJournal(content: Buffer, path: string): Parsed {
  const bytes = content.lastIndexOf(0x0a) + 1;
  const whole = content.subarray(0, bytes);
  if (!isUtf8(whole)) throw broken(path, "is not UTF-8 throughout");
  const entries: Entry[] = [];
  let prev = NONE_BEFORE;
  for (const line of whole.toString("utf8").split("\n").slice(0, -1)) {
    const number = entries.length + 1;
    const value = parseObject(line);
    if (number === 1 && value?.do !== "open") {
      throw new MigrationError("N2I-E113", `${path} is not a journal of this tool`);
    }
    if (value?.prev !== prev) throw broken(path, `does not follow from line ${number - 1}`, number);
    entries.push(parseEntry(value, `${path}:${number}`));
    prev = digest(line);
  }
  const tail = content.toString("latin1", bytes, bytes + BEGINNING.length);
  // To cut off a tail must not empty somebody else's file; a power cut can leave NULs.
  if (entries.length === 0 && !BEGINNING.startsWith(tail) && !tail.startsWith("\0")) {
    throw new MigrationError("N2I-E113", `${path} is not a journal of this tool`);
  }
  return { entries, torn: bytes < content.length, bytes, prev };
}

function digest(line: string): string {
  return createHash("sha256").update(line).digest("hex").slice(0, 16);
}

function broken(path: string, fact: string, line?: number): MigrationError {
  return journalFault(line === undefined ? path : `${path}:${line}`, fact);
}

/**
 * Refuses to act on a copy of a run. What a journal begun and did not end counts as this run's own
 * when it is found; in a copy taken earlier it may be what the first run, or another, has loaded since.
 * A folder that is renamed stays itself: it is known by its inode, which a copy and a restored backup
 * do not keep.
 *
 * @throws MigrationError N2I-E222, N2I-E120
 */
async function checkPlace(run: RunFolder): Promise<void> {
  const path = join(run.path, "run.place");
  const here = String((await stat(run.path, { bigint: true })).ino);
  const known = await readFile(path, "utf8").catch(orMissing(path));
  if (known?.trim() === here) return;
  if (known !== null && (await hasBegun(run)))
    throw new MigrationError("N2I-E222", `${run.path} is a copy of the run it was made in`, {
      fix: `Work in that one. If it is lost for good, or this is all that a backup gave back: rm ${shellWord(path)}, then run the same command again.`,
    });
  await writeFile(path, `${here}\n`, { mode: 0o600 }).catch((cause: unknown) => {
    throw notWritten(path, cause);
  });
  await syncFolder(run.path);
}

/** Null for what is not there. @throws MigrationError N2I-E120 for any other failure */
function orMissing(path: string): (cause: unknown) => null {
  return (cause) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw notWritten(path, cause);
  };
}

async function hasBegun({ path }: RunFolder): Promise<boolean> {
  const journal = await stat(join(path, JOURNAL)).catch(orMissing(path));
  return journal !== null && journal.size > 0;
}
