import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import {
  contentOf,
  notRead,
  notWritten,
  orNotWritten,
  writtenOf,
} from "../../lib/files/failure.ts";
import { syncFolder } from "../../lib/files/temp-file.ts";
import type { Entries, Entry } from "../../model/journal.ts";
import { parseObject } from "./artefact-form.ts";
import { journalFault, parseEntry } from "./journal-entries.ts";
import type { RunFolder } from "./run-folder.ts";
import { checkLost, checkRunIdentity, JOURNAL, rememberStarted } from "./run-identity.ts";

/** Started and completed changes in order. Each line has the digest of the previous line. */
export type Journal = Awaited<ReturnType<typeof openJournal>>;

const BEGINNING = '{"do":"open"';
/** Maximum bytes. The journal of a finished run of 100,000 machines has a seventh of this. */
const LARGEST = 500 * 1024 * 1024;
const NONE_BEFORE = "0".repeat(16);

/**
 * Opens or creates the journal. Requires the lock of the run.
 * @throws MigrationError N2I-E112 for a broken chain, N2I-E113 for another file, N2I-E222 for a
 *   copied run, N2I-E120
 */
export async function openJournal(run: RunFolder) {
  const path = join(run.path, JOURNAL);
  let handle: FileHandle | undefined;
  try {
    const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
    handle = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
    await syncFolder(run.path);
    const mark = markOf(await handle.stat({ bigint: true }));
    const cached = lastRead?.path === path && lastRead.mark === mark ? lastRead.found : null;
    const found = cached ?? (await parseJournal(handle, path));
    await checkRunIdentity(run);
    if (found.torn) {
      await handle.truncate(found.bytes);
      await handle.sync();
    }
    if (found.entries.length > 0) await rememberStarted(run);
    else await checkLost(run);
    const state = { ...found, entries: [...found.entries] };
    return journalOn(handle, path, state, () => rememberStarted(run));
  } catch (cause) {
    await handle?.close();
    throw notWritten(path, cause);
  }
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
export async function readJournal(
  run: Pick<RunFolder, "path">,
): Promise<{ readonly entries: Entries }> {
  const path = join(run.path, JOURNAL);
  try {
    const mark = markOf(await stat(path, { bigint: true }));
    if (lastRead?.path !== path || (lastRead.mark !== null && lastRead.mark !== mark))
      lastRead = { path, mark, found: await parseFile(path) };
    const { entries } = lastRead.found;
    if (entries.length === 0) await checkLost(run);
    return { entries: [...entries] };
  } catch (cause) {
    if (systemCode(cause) !== "ENOENT") throw notRead(path, cause);
    await checkLost(run);
    return { entries: [] };
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

/** @param onStart called after its first entry */
function journalOn(handle: FileHandle, path: string, found: Parsed, onStart: () => Promise<void>) {
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
    await handle.appendFile(`${line}\n`).catch(orNotWritten(path));
    await handle.datasync().catch(orNotWritten(path));
    prev = digest(line);
    entries.push(entry);
    if (entries.length === 1) await onStart();
  };
  return {
    /** Including appended entries. */
    entries: (): Entries => entries,
    /**
     * Adds an entry, which survives a power failure when this resolves. Concurrent calls are written
     * in call order. After a failure every call fails, because the state of the disk is unknown.
     * @throws MigrationError N2I-E120
     */
    append(entry: Entry): Promise<void> {
      last = last.then(() => put(entry)); // stays rejected after a failure
      last.catch(() => undefined); // the caller gets the error
      return last;
    },
    async close(): Promise<void> {
      await last.catch(() => undefined);
      lastRead = null;
      await handle.close();
    },
  };
}

type Parsed = Awaited<ReturnType<typeof parseJournal>>;

async function parseJournal(handle: FileHandle, path: string) {
  const content = await contentOf(handle, path, "a journal", LARGEST);
  const bytes = content.lastIndexOf(0x0a) + 1;
  // An error about the invalid byte is clearer than one about its line.
  if (!isUtf8(content.subarray(0, bytes))) throw journalFault(path, "is not valid UTF-8");
  const entries: Entry[] = [];
  let prev = NONE_BEFORE;
  for (let from = 0, end = 0; from < bytes; from = end + 1) {
    end = content.indexOf(0x0a, from);
    const line = content.subarray(from, end);
    const number = entries.length + 1;
    const value = parseObject(line.toString("utf8"));
    if (number === 1 && value?.do !== "open") throw foreignFile(path);
    const where = `${path}:${number}`;
    if (value?.prev !== prev) throw journalFault(where, `does not follow from line ${number - 1}`);
    entries.push(parseEntry(value, where));
    prev = digest(line);
  }
  const tail = content.toString("latin1", bytes, bytes + BEGINNING.length);
  // Never truncate a foreign file. A power failure may leave NULs.
  if (entries.length === 0 && !BEGINNING.startsWith(tail) && !tail.startsWith("\0"))
    throw foreignFile(path);
  return {
    entries,
    /** Whether an incomplete last line is to be cut off. */
    torn: bytes < content.length,
    /** Bytes of complete lines. */
    bytes,
    /** Digest of the last line. */
    prev,
  };
}

function foreignFile(path: string): MigrationError {
  return new MigrationError("N2I-E113", `${path} is not a journal of nova2ironic`);
}

function digest(line: string | Uint8Array): string {
  return hash("sha256", line).slice(0, 16);
}

/** As `writtenOf`. Null without a journal. */
export async function journalMark(path: string): Promise<string | null> {
  const found = await stat(join(path, JOURNAL), { bigint: true }).catch(() => null);
  return found === null ? null : writtenOf(found);
}

function markOf(found: BigIntStats): string {
  return `${writtenOf(found)} ${found.ctimeNs}`;
}
