import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { readDatabaseAddress } from "../edge/config/database-address.ts";
import { copiedTables, lackingOf } from "../edge/copy/definitions.ts";
import { copyTables, countAll } from "../edge/copy/fill.ts";
import { markAs } from "../edge/copy/mark.ts";
import {
  besideOf,
  bytesOf,
  giveName,
  isThere,
  makeDatabase,
  makingOf,
  taken,
} from "../edge/copy/place.ts";
import { identify, tableNames } from "../edge/database/identity.ts";
import { type Database, openDatabase } from "../edge/database/open.ts";
import { openJournal } from "../edge/disk/journal.ts";
import { freeSpace, type RunFolder } from "../edge/disk/run-folder.ts";
import { type DatabaseAddress, otherServer } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import { type Entry, JOURNAL_FORMAT } from "../model/journal.ts";
import { ROLES } from "./databases.ts";
import { failpoint, withFailpoints } from "./failpoint.ts";
import { patience } from "./patience.ts";
import type { Progress } from "./sink.ts";
import { surroundings } from "./surroundings.ts";
import { VERSION, whoami } from "./version.ts";

/** A database that is copied. */
export interface CopySource {
  readonly role: "ironic-db" | "nova-db" | "nova-api-db";
  readonly source: Database;
  /** Tables that are copied; all without it. */
  readonly only?: readonly string[];
  /** The empty database that its copy goes into, as a command was given it; absent: one beside it. */
  readonly into?: string;
}

/** How the empty database of each copy is given. */
export const INTO = {
  ...{ "ironic-db": ROLES.into, "nova-db": ROLES["nova-into"] },
  "nova-api-db": ROLES["nova-api-into"],
} as const;

/** Where a copy goes: its own database beside the target, or one that was given empty. */
export interface CopyPlace extends CopySource {
  readonly address: DatabaseAddress;
}

interface CopyMade {
  /** How it was made, for people. */
  readonly how: string;
  /** What of the source it lacks, for people; null: nothing. */
  readonly without: string | null;
  readonly rows: number;
}

/**
 * Looks at the place of a copy before anything is made.
 *
 * @param earlier copies that are to have room besides
 * @throws MigrationError N2I-E350 for want of room, N2I-E351 when it is not empty, N2I-E352 for another kind of server
 */
export async function placeOf(
  of: CopySource,
  earlier: readonly CopyPlace[] = [],
): Promise<CopyPlace> {
  const { role, source, into } = of;
  const address = await addressOf(of, into);
  const { option } = INTO[role];
  if (into === undefined) {
    if (await isThere(source, address)) throw taken(address);
    await checkRoom(of, address, earlier);
    return { ...of, address };
  }
  if (address.engine !== source.engine)
    throw new MigrationError(
      "N2I-E352",
      `${option} is ${address.engine}, and --${role} is ${source.engine}`,
      { fix: "Make an empty database on the same kind of server and give that." },
    );
  const isEmpty = await at(address, true, async (copy) => (await tableNames(copy)).size === 0);
  if (!isEmpty || (address.filename !== null && statSync(address.filename).size > 0))
    throw new MigrationError("N2I-E351", `${option} ${address.shown} is not empty`);
  const same = await sameAs(address, earlier);
  if (same !== undefined)
    throw new MigrationError(
      "N2I-E351",
      `${option} ${address.shown} is where the copy of --${same.role} goes`,
    );
  await checkRoom(of, address, earlier);
  return { ...of, address };
}

/** The copy that goes into the same database, whatever its address is called. */
async function sameAs(
  address: DatabaseAddress,
  earlier: readonly CopyPlace[],
): Promise<CopyPlace | undefined> {
  const here = await at(address, true, identify);
  for (const other of earlier) {
    if (other.into === undefined) continue;
    const there = await at(other.address, true, identify);
    if (here.database === there.database && otherServer(there, here).length === 0) return other;
  }
  return undefined;
}

/** Of a file it can be known, of a server only by who runs it. */
async function checkRoom(
  { role, source }: CopySource,
  { filename }: DatabaseAddress,
  earlier: readonly CopyPlace[],
): Promise<void> {
  if (filename === null) return;
  const diskOf = (file: string): number => statSync(dirname(file)).dev;
  const besides = earlier.filter(
    ({ address }) => address.filename !== null && diskOf(address.filename) === diskOf(filename),
  );
  let wanted = 2 * (await bytesOf(source));
  for (const other of besides) wanted += 2 * (await bytesOf(other.source));
  const free = await freeSpace(dirname(filename));
  if (free < wanted)
    throw new MigrationError(
      "N2I-E350",
      `the copy and what is loaded into it want about ${mebibytes(wanted)}, and ${dirname(filename)} has room for ${mebibytes(free)}`,
      {
        fix: `Make room there, or give an empty file elsewhere with ${INTO[role].option}.`,
      },
    );
}

/** `12.3 MiB` */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/**
 * Makes a copy of a database, with its rows. It is in the journal before it is anywhere else.
 *
 * @returns null when it was stopped on request
 * @throws MigrationError N2I-E350, N2I-E351
 */
export async function makeCopy(
  inner: RunFolder,
  place: CopyPlace,
  signal: AbortSignal,
  progress: Progress,
): Promise<CopyMade | null> {
  const { source, only, address, into } = place;
  const isGiven = into !== undefined;
  const mark = randomBytes(16).toString("hex");
  await record(inner, { ...(await resourceOf(place)), mark });
  const making = makingOf(address, mark, isGiven);
  const whole = await makePlace(inner, { place, making, mark });
  await failpoint("copy.made");
  const isFile = address.filename !== null;
  const made = await at(isFile ? (making ?? address) : address, false, async (copy) => {
    // A file is copied with whatever is in it: what is marked before would be lost.
    if (!isFile && making === null) await markAs(copy, mark);
    if (!whole && !(await copyTables(source, copy, only, signal, progress))) return null;
    await failpoint("copy.filled");
    if (isFile) await markAs(copy, mark);
    const without = whole ? null : await lackingOf(source);
    return { how: howOf(copy, whole), without, rows: await countAll(copy) };
  });
  if (made === null) return null;
  if (isFile && making !== null) await giveName(source, making, address, isGiven);
  await record(inner, { do: "made", mark, at: now() });
  return made;
}

async function resourceOf({ role, source, only, address, into }: CopyPlace) {
  const about = {
    ...({ do: "resource", name: address.database, at: now(), by: whoami() } as const),
    ...(role !== "ironic-db" && { of: role }),
  };
  if (into === undefined)
    return { ...about, kind: "database", beside: await identify(source) } as const;
  // A file is copied whole.
  const some = source.engine === "sqlite" ? undefined : only;
  const tables = (await copiedTables(source, some)).map(({ name }) => name);
  return {
    ...about,
    kind: "tables",
    into,
    tables,
    beside: await at(address, true, identify),
  } as const;
}

interface Making {
  readonly place: CopyPlace;
  readonly making: DatabaseAddress | null;
  readonly mark: string;
}

/** @returns whether it holds all that the source holds by now */
async function makePlace(
  inner: RunFolder,
  { place: { role, source, only, address, into }, making, mark }: Making,
): Promise<boolean> {
  if (making === null && into !== undefined) return false;
  const login = `Or give a login that may to --${role}`;
  const empty = `, or make an empty database and give that with ${INTO[role].option}`;
  const how = { mark, mayBeWhole: only === undefined, or: `${login}${empty}.` };
  const whole = await madeOrNot(inner, mark, () => makeDatabase(source, making ?? address, how));
  await failpoint("copy.created");
  if (making !== null && address.filename === null) {
    await at(making, false, (copy) => markAs(copy, mark));
    await giveName(source, making, address, false);
  }
  return whole;
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

/** @param into of a copy that was made: what it was given then */
export async function addressOf(
  { role, source }: Pick<CopySource, "role" | "source">,
  into: string | undefined,
): Promise<DatabaseAddress> {
  return into === undefined
    ? besideOf(source)
    : readDatabaseAddress(into, INTO[role], surroundings().env);
}

export async function at<T>(
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

export async function record(inner: RunFolder, entry: Entry): Promise<void> {
  const journal = withFailpoints(await openJournal(inner));
  try {
    if (journal.entries().length === 0)
      await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: VERSION });
    await journal.append(entry);
  } finally {
    await journal.close();
  }
}

export function now(): string {
  return new Date().toISOString();
}
