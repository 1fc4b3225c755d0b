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

/** Started and completed changes in order. Each line has the digest of the previous line. */
export interface Journal {
  readonly path: string;
  /** Whether an incomplete last line was cut off at opening. */
  readonly torn: boolean;
  /** Including appended entries. */
  readonly entries: () => Entries;
  /**
   * Adds an entry, which survives a power failure when this resolves. Concurrent calls are written
   * in call order. After a failure every call fails, because the state of the disk is unknown.
   * @throws MigrationError N2I-E120
   */
  readonly append: (entry: Entry) => Promise<void>;
  readonly close: () => Promise<void>;
}

const BEGINNING = '{"do":"open"';
/** Bytes. A finished run of 100,000 machines has a seventh of it. */
const LARGEST = 500 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
const NONE_BEFORE = "0".repeat(16);

/**
 * Opens or creates the journal. Requires the lock of the run.
 * @throws MigrationError N2I-E112 for a broken chain, N2I-E113 for another file, N2I-E222 for a
 *   copied run, N2I-E120
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
 * Cache of the last journal of this process. `mark` is the state of the file, null while the
 * journal is open here, because the run's lock excludes other writers.
 */
let lastRead: {
  readonly path: string;
  readonly mark: string | null;
  readonly found: Parsed;
} | null = null;

/** Without a file: no entries. @throws MigrationError N2I-E110, N2I-E112, N2I-E113 */
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

/** @param begun called after its first entry */
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
      last = last.then(() => put(entry)); // stays rejected after a failure
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
  /** Bytes of complete lines. */
  readonly bytes: number;
  /** Digest of the last line. */
  readonly prev: string;
}

/** Reads in chunks, so that the file is never in memory as a whole. */
async function parseJournal(handle: FileHandle, path: string): Promise<Parsed> {
  await checkFile(handle, path, "a journal", LARGEST);
  const lines = createLines(path);
  let fault: unknown = null;
  let bytes = 0;
  /** Start of an incomplete line. */
  let rest: Buffer[] = [];
  for await (const chunk of chunksOf(handle)) {
    const end = chunk.lastIndexOf(0x0a) + 1;
    const whole = end === 0 ? NOTHING : Buffer.concat([...rest, chunk.subarray(0, end)]);
    // An invalid byte is a better error than its line.
    if (!isUtf8(whole)) throw journalFault(path, "is not valid UTF-8");
    fault ??= lines.put(whole);
    bytes += whole.length;
    if (end > 0) rest = [];
    if (end < chunk.length) rest.push(Buffer.from(chunk.subarray(end)));
  }
  if (fault !== null) throw fault;
  const { entries, prev } = lines.end();
  const tail = Buffer.concat(rest).toString("latin1", 0, BEGINNING.length);
  // Never truncate a foreign file. A power failure may leave NULs.
  if (entries.length === 0 && !BEGINNING.startsWith(tail) && !tail.startsWith("\0")) {
    throw new MigrationError("N2I-E113", `${path} is not a journal of nova2ironic`);
  }
  return { entries, torn: rest.length > 0, bytes, prev };
}

function createLines(path: string) {
  const entries: Entry[] = [];
  const share = createShared();
  let prev = NONE_BEFORE;
  const putLine = (line: Buffer): void => {
    const number = entries.length + 1;
    const value = parseObject(line.toString("utf8"));
    if (number === 1 && value?.do !== "open") {
      throw new MigrationError("N2I-E113", `${path} is not a journal of nova2ironic`);
    }
    const place = `${path}:${number}`;
    if (value?.prev !== prev) throw journalFault(place, `does not follow from line ${number - 1}`);
    entries.push(share(parseEntry(value, place)));
    prev = digest(line);
  };
  /** @returns the first fault, or null */
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

/** Shares equal values. A journal has hundreds of thousands of entries with few different ones. */
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

/** Changes at each write, but not with a backup link or a mode change. Null without a journal. */
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
