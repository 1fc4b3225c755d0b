import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { checkFile, chunksOf, notRead, notWritten } from "../../lib/files/failure.ts";
import { syncFolder } from "../../lib/files/temp-file.ts";
import type { Entries, Entry } from "../../model/journal.ts";
import { parseObject } from "./artefact-form.ts";
import { journalFault, parseEntry } from "./journal-entries.ts";
import type { RunFolder } from "./run-folder.ts";
import { checkLost, checkPlace, JOURNAL, rememberBegun } from "./run-place.ts";

/** What was begun and what was done, in order. Each line names the digest of the one before. */
export interface Journal {
  readonly path: string;
  /** Whether a last line that a crash left unfinished was cut off at opening. */
  readonly torn: boolean;
  /** Those found at opening and those appended since. */
  readonly entries: () => Entries;
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
/** Bytes; 100,000 machines that were handed over and finished come to a seventh of it. */
const LARGEST = 500 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
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
    const mark = markOf(await handle.stat({ bigint: true }));
    const cached = lastRead?.path === path && lastRead.mark === mark ? lastRead.found : null;
    const found = cached ?? (await parseJournal(handle, path));
    await checkPlace(run);
    if (found.torn) {
      await handle.truncate(found.bytes);
      await handle.sync();
    }
    if (found.entries.length > 0) await rememberBegun(run);
    else await checkLost(run);
    const own = { ...found, entries: [...found.entries] };
    return journalOn(handle, path, own, () => rememberBegun(run));
  } catch (cause) {
    await handle?.close();
    throw notWritten(path, cause);
  }
}

interface Read {
  readonly entries: Entries;
  readonly torn: boolean;
}

/**
 * The journal that this process read last, or has open, so that a command reads it once. `mark` is of the file as it
 * was then; null while the journal is open here: the lock of the run keeps other writers out.
 */
let lastRead: {
  readonly path: string;
  readonly mark: string | null;
  readonly found: Parsed;
} | null = null;

/**
 * What the run's journal says; nothing is written. No file: no entries.
 *
 * @throws MigrationError N2I-E110, N2I-E112, N2I-E113
 */
export async function readJournal(run: Pick<RunFolder, "path">): Promise<Read> {
  const path = join(run.path, JOURNAL);
  try {
    const mark = markOf(await stat(path, { bigint: true }));
    if (lastRead?.path !== path || (lastRead.mark !== null && lastRead.mark !== mark))
      lastRead = { path, mark, found: await parseFile(path) };
    const { entries, torn } = lastRead.found;
    if (entries.length === 0) await checkLost(run);
    return { entries: [...entries], torn };
  } catch (cause) {
    if (systemCode(cause) !== "ENOENT") throw notRead(path, cause);
    await checkLost(run);
    return { entries: [], torn: false };
  }
}

async function parseFile(path: string): Promise<Parsed> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return await parseJournal(handle, path);
  } finally {
    await handle.close();
  }
}

/** @param begun called once it has its first entry */
function journalOn(
  handle: FileHandle,
  path: string,
  found: Parsed,
  begun: () => Promise<void>,
): Journal {
  const { entries } = found;
  let { prev } = found;
  let last: Promise<void> = Promise.resolve();
  lastRead = { path, mark: null, found: { ...found, torn: false } };

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
    if (entries.length === 1) await begun();
  };
  return {
    path,
    torn: found.torn,
    entries: () => entries,
    append(entry) {
      last = last.then(() => put(entry)); // once rejected, it stays so: see append
      last.catch(() => undefined); // the caller gets the error
      return last;
    },
    async close() {
      await last.catch(() => undefined);
      lastRead = null;
      await handle.close();
    },
  };
}

interface Parsed extends Read {
  readonly entries: Entry[];
  /** Of the whole lines. */
  readonly bytes: number;
  /** What the next line names as the one before. */
  readonly prev: string;
}

/** Reads line by line: neither the file nor all its lines are ever in memory. */
async function parseJournal(handle: FileHandle, path: string): Promise<Parsed> {
  await checkFile(handle, path, "a journal", LARGEST);
  const lines = createLines(path);
  let fault: unknown = null;
  let bytes = 0;
  /** Of a line whose end was not read yet. */
  let rest: Buffer[] = [];
  for await (const chunk of chunksOf(handle)) {
    const end = chunk.lastIndexOf(0x0a) + 1;
    const whole = end === 0 ? NOTHING : Buffer.concat([...rest, chunk.subarray(0, end)]);
    // A byte that is no text says more than a line that it spoils.
    if (!isUtf8(whole)) throw journalFault(path, "is not UTF-8 throughout");
    fault ??= lines.put(whole);
    bytes += whole.length;
    if (end > 0) rest = [];
    if (end < chunk.length) rest.push(Buffer.from(chunk.subarray(end)));
  }
  if (fault !== null) throw fault;
  const { entries, prev } = lines.end();
  const tail = Buffer.concat(rest).toString("latin1", 0, BEGINNING.length);
  // To cut off a tail must not empty somebody else's file; a power cut can leave NULs.
  if (entries.length === 0 && !BEGINNING.startsWith(tail) && !tail.startsWith("\0")) {
    throw new MigrationError("N2I-E113", `${path} is not a journal of this tool`);
  }
  return { entries, torn: rest.length > 0, bytes, prev };
}

/** Entries of a journal, line after line. */
function createLines(path: string) {
  const entries: Entry[] = [];
  const share = createShared();
  let prev = NONE_BEFORE;
  const putLine = (line: Buffer): void => {
    const number = entries.length + 1;
    const value = parseObject(line.toString("utf8"));
    if (number === 1 && value?.do !== "open") {
      throw new MigrationError("N2I-E113", `${path} is not a journal of this tool`);
    }
    const place = `${path}:${number}`;
    if (value?.prev !== prev) throw journalFault(place, `does not follow from line ${number - 1}`);
    entries.push(share(parseEntry(value, place)));
    prev = digest(line);
  };
  /** @returns what is wrong with the first line that is not as it should be, or null */
  const put = (lines: Buffer): unknown => {
    try {
      for (let from = 0, end = 0; from < lines.length; from = end + 1) {
        end = lines.indexOf(0x0a, from);
        putLine(lines.subarray(from, end));
      }
      return null;
    } catch (cause) {
      return cause;
    }
  };
  return { put, end: () => ({ entries, prev }) };
}

/** A night writes hundreds of thousands of entries, in which few users and observations differ: each is kept once. */
function createShared(): (entry: Entry) => Entry {
  const known = new Map<string, unknown>();
  const once = <T>(value: T): T => {
    const key = JSON.stringify(value);
    const same = known.get(key);
    if (same === undefined) known.set(key, value);
    return same === undefined ? value : (same as T); // of the same text
  };
  return (entry) => {
    if (!("id" in entry)) return entry;
    const shared = { ...entry, part: once(entry.part) };
    if ("by" in shared) Object.assign(shared, { by: once(shared.by) });
    if ("observed" in shared) Object.assign(shared, { observed: once(shared.observed) });
    if ("left" in shared) Object.assign(shared, { left: once(shared.left) });
    return shared;
  };
}

function digest(line: string | Uint8Array): string {
  return hash("sha256", line).slice(0, 16);
}

/**
 * What changes whenever a run's journal is written, and not where a backup links it or its rights change; null
 * where it has none that can be looked at.
 */
export async function journalMark(path: string): Promise<string | null> {
  const found = await stat(join(path, JOURNAL), { bigint: true }).catch(() => null);
  return found === null ? null : writtenOf(found);
}

function writtenOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs].join(" ");
}

function markOf(found: BigIntStats): string {
  return `${writtenOf(found)} ${found.ctimeNs}`;
}
