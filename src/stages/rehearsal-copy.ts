import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { readDatabaseAddress } from "../edge/config/database-address.ts";
import { copyTables, countAll } from "../edge/copy/fill.ts";
import { dropAll, markAs, markOf } from "../edge/copy/mark.ts";
import {
  besideOf,
  bytesOf,
  dropDatabase,
  emptyFile,
  isThere,
  makeDatabase,
  taken,
} from "../edge/copy/place.ts";
import { tableNames } from "../edge/database/identity.ts";
import { type Database, openDatabase } from "../edge/database/open.ts";
import { openJournal, readJournal } from "../edge/disk/journal.ts";
import { freeSpace, type RunFolder } from "../edge/disk/run-folder.ts";
import type { DatabaseAddress } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import { type Entry, JOURNAL_FORMAT, type ResourceEntry } from "../model/journal.ts";
import { ROLES } from "./databases.ts";
import { failpoint, withFailpoints } from "./failpoint.ts";
import { patience } from "./patience.ts";
import type { Progress } from "./sink.ts";
import { surroundings } from "./surroundings.ts";
import { VERSION, whoami } from "./version.ts";

type Resource = Extract<ResourceEntry, { readonly do: "resource" }>;

/** Where a copy goes: its own database beside the target, or one that was given empty. */
export interface CopyPlace {
  readonly address: DatabaseAddress;
  readonly into?: string;
}

/**
 * Looks at the place of a copy before anything is made.
 *
 * @param into as a command was given it
 * @throws MigrationError N2I-E350 for want of room, N2I-E351 when it is not empty, N2I-E352 for another kind of server
 */
export async function placeOf(source: Database, into: string | undefined): Promise<CopyPlace> {
  const address = await addressOf(source, into);
  if (into === undefined) {
    if (await isThere(source, address)) throw taken(address);
    await checkRoom(source, address);
    return { address };
  }
  if (address.engine !== source.engine)
    throw new MigrationError(
      "N2I-E352",
      `--into is ${address.engine}, and Ironic's database is ${source.engine}`,
      { fix: "Make an empty database on the same kind of server and give that." },
    );
  const isEmpty = await at(address, true, async (copy) => (await tableNames(copy)).size === 0);
  if (!isEmpty || (address.filename !== null && statSync(address.filename).size > 0))
    throw new MigrationError("N2I-E351", `--into ${address.shown} is not empty`);
  await checkRoom(source, address);
  return { address, into };
}

/** Of a file it can be known, of a server only by who runs it. */
async function checkRoom(source: Database, { filename }: DatabaseAddress): Promise<void> {
  if (filename === null) return;
  const [wanted, free] = [2 * (await bytesOf(source)), await freeSpace(dirname(filename))];
  if (free < wanted)
    throw new MigrationError(
      "N2I-E350",
      `the copy and what is loaded into it want about ${mebibytes(wanted)}, and ${dirname(filename)} has room for ${mebibytes(free)}`,
      { fix: "Make room there, or give an empty file elsewhere with --into." },
    );
}

/** `12.3 MiB` */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/**
 * Makes a copy of a database, with its rows. It is in the journal before it is anywhere else.
 *
 * @returns how it was made, for people, and its rows; null when it was stopped on request
 * @throws MigrationError N2I-E350, N2I-E351
 */
export async function makeCopy(
  inner: RunFolder,
  source: Database,
  { address, into }: CopyPlace,
  signal: AbortSignal,
  progress: Progress,
): Promise<{ readonly how: string; readonly rows: number } | null> {
  const mark = randomBytes(16).toString("hex");
  const kind = into === undefined ? "database" : "tables";
  const named = { kind, name: address.database, ...(into !== undefined && { into }) } as const;
  await record(inner, { do: "resource", mark, ...named, at: now(), by: whoami() });
  const whole =
    into === undefined && (await madeOrNot(inner, mark, () => makeDatabase(source, address)));
  await failpoint("copy.made");
  const made = await at(address, false, async (copy) => {
    // A file is copied with whatever is in it, and so is a template: what is marked before would be lost.
    const first = !whole && copy.engine !== "sqlite";
    if (first) await markAs(copy, mark);
    if (!whole && !(await copyTables(source, copy, signal, progress))) return null;
    await failpoint("copy.filled");
    if (!first) await markAs(copy, mark);
    return { how: howOf(copy, whole), rows: await countAll(copy) };
  });
  if (made !== null) await record(inner, { do: "made", mark, at: now() });
  return made;
}

function howOf({ engine }: Database, whole: boolean): string {
  if (engine === "sqlite") return "a copy of its file";
  return whole ? "copied whole, as a template" : "made from its definitions, with its rows";
}

/** What could not be made is not there to be taken away. */
async function madeOrNot<T>(inner: RunFolder, mark: string, make: () => Promise<T>): Promise<T> {
  return make().catch(async (cause: unknown) => {
    if (cause instanceof MigrationError && /^N2I-E35[01]$/.test(cause.code))
      await record(inner, { do: "gone", mark, at: now() });
    throw cause;
  });
}

/**
 * Takes away what the journal of a rehearsal speaks of, as far as it is what that rehearsal made.
 *
 * @returns what was there, for people
 * @throws MigrationError N2I-E351 where something else is there now
 */
export async function removeCopies(inner: RunFolder, source: Database): Promise<readonly string[]> {
  const { entries } = await readJournal(inner);
  const idsOf = (what: "made" | "gone"): ReadonlySet<string> =>
    new Set(entries.flatMap((entry) => (entry.do === what ? [entry.mark] : [])));
  const [made, gone] = [idsOf("made"), idsOf("gone")];
  const removed: string[] = [];
  for (const entry of entries) {
    if (entry.do !== "resource" || gone.has(entry.mark)) continue;
    if (entry.kind === "index") continue; // it goes with its table
    const address = await addressOf(source, entry.into);
    if (address.database !== entry.name)
      throw new MigrationError(
        "N2I-E351",
        `the last rehearsal made ${entry.name}, which is not beside ${source.shown}`,
        {
          fix: "Give --undo the --ironic-db of that rehearsal, and what its --into named.",
        },
      );
    if (await remove(source, address, entry, made.has(entry.mark))) removed.push(address.shown);
    await record(inner, { do: "gone", mark: entry.mark, at: now() });
  }
  return removed;
}

/**
 * @param marked whether its mark is in it, if it is ours still
 * @returns whether it was there
 */
async function remove(
  source: Database,
  address: DatabaseAddress,
  { mark, kind }: Resource,
  marked: boolean,
): Promise<boolean> {
  if (kind === "database" && !(await isThere(source, address))) return false;
  const found = await at(address, true, markOf).catch((cause: unknown) => {
    // A kill amid of copying a file leaves half of one.
    if (address.filename !== null && kind === "database") return { id: null, tables: [] };
    throw cause;
  });
  // Killed before it was marked: nothing is in it, or all of it was put there by the server itself.
  const isEmpty = found.tables.length === 0;
  const isBare = found.id === null && !marked && (isEmpty || source.engine !== "mysql");
  const isOurs = found.id === mark || (isBare && (kind === "database" || isEmpty));
  if (!isOurs) throw taken(address);
  if (kind === "database") await dropDatabase(source, address);
  else if (address.filename !== null) emptyFile(address.filename);
  else await at(address, false, (copy) => dropAll(copy, found.tables));
  return kind === "database" || found.id !== null;
}

async function addressOf(source: Database, into: string | undefined): Promise<DatabaseAddress> {
  return into === undefined
    ? besideOf(source)
    : readDatabaseAddress(into, ROLES.into, surroundings().env);
}

async function at<T>(
  address: DatabaseAddress,
  readOnly: boolean,
  work: (copy: Database) => Promise<T>,
): Promise<T> {
  const copy = await openDatabase(address, { readOnly, patience: patience() });
  try {
    return await work(copy);
  } finally {
    await copy.close();
  }
}

async function record(inner: RunFolder, entry: Entry): Promise<void> {
  const journal = withFailpoints(await openJournal(inner));
  try {
    if (journal.entries().length === 0)
      await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: VERSION });
    await journal.append(entry);
  } finally {
    await journal.close();
  }
}

function now(): string {
  return new Date().toISOString();
}
