import { dropAll, marksOf } from "../edge/copy/mark.ts";
import {
  besideNamed,
  dropDatabase,
  emptyFile,
  isBeingMade,
  isMadeAs,
  isThere,
  makingOf,
  taken,
} from "../edge/copy/place.ts";
import { identify } from "../edge/database/identity.ts";
import type { Database } from "../edge/database/open.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { type DatabaseAddress, otherServer } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import type { ResourceEntry } from "../model/journal.ts";
import { addressOf, at, type CopySource, INTO, now, record } from "./rehearsal-copy.ts";

type Resource = Extract<ResourceEntry, { readonly do: "resource" }>;

/** A copy that was there, for people. */
export interface RemovedCopy {
  readonly shown: string;
  /** Tables that somebody else made beside it, which stay. */
  readonly others: readonly string[];
}

/**
 * Takes away what the journal of a rehearsal speaks of, as far as it is what that rehearsal made. What of it stays
 * keeps nothing else from going.
 *
 * @throws MigrationError N2I-E351 where something else is there now, or this is another server
 */
export async function removeCopies(
  inner: RunFolder,
  sources: readonly CopySource[],
): Promise<readonly RemovedCopy[]> {
  const { entries } = await readJournal(inner);
  const idsOf = (what: "made" | "gone"): ReadonlySet<string> =>
    new Set(entries.flatMap((entry) => (entry.do === what ? [entry.mark] : [])));
  const [made, gone] = [idsOf("made"), idsOf("gone")];
  const removed: RemovedCopy[] = [];
  const failures: unknown[] = [];
  for (const entry of entries) {
    if (entry.do !== "resource" || gone.has(entry.mark)) continue;
    if (entry.kind === "index") continue; // it goes with its table
    try {
      const source = sourceOf(entry, sources);
      const { into, name } = entry;
      const address = await (into === undefined
        ? besideNamed(source, name)
        : addressOf({ role: entry.of ?? "ironic-db", source }, into));
      await checkPlace(source, address, entry);
      const others = await remove(source, address, entry, made.has(entry.mark));
      if (others !== null) removed.push({ shown: address.shown, others });
      await record(inner, { do: "gone", mark: entry.mark, at: now() });
    } catch (cause) {
      failures.push(cause);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

function sourceOf({ of: role, name }: Resource, sources: readonly CopySource[]): Database {
  const of = role ?? "ironic-db";
  const found = sources.find(({ role }) => role === of);
  if (found !== undefined) return found.source;
  throw new MigrationError("N2I-E351", `the copy ${name} is there still, and no --${of} is given`, {
    fix: `Give --${of} as for that rehearsal.`,
  });
}

/** A database of this name on another server is another one, and says nothing of the copy. */
async function checkPlace(
  source: Database,
  address: DatabaseAddress,
  { name, into, beside, of }: Resource,
): Promise<void> {
  const role = of ?? "ironic-db";
  const found = into === undefined ? await identify(source) : await at(address, true, identify);
  // A file is what its path leads to, and a copy takes the place of the one that was given.
  const isOther =
    address.filename === null && (beside === undefined || otherServer(beside, found).length > 0);
  if (address.database !== name || isOther)
    throw new MigrationError(
      "N2I-E351",
      `the last rehearsal made its copy ${name} at ${beside?.address ?? "another server"}, not at ${found.address}`,
      {
        why: "Whatever is here says nothing of that copy, which is still there.",
        fix: `Give --${role} as for that rehearsal; what its ${INTO[role].option} named must be as it was.`,
      },
    );
}

/**
 * @param isMade whether its mark is in it, if it is ours still
 * @returns tables of others beside it; null where it was not there
 */
async function remove(
  source: Database,
  address: DatabaseAddress,
  entry: Resource,
  isMade: boolean,
): Promise<readonly string[] | null> {
  const { mark, kind } = entry;
  const making = makingOf(address, mark, entry.into !== undefined);
  const first = making ?? address;
  if (kind === "database" && !isMade && (await isBeingMade(source, first))) throw atWork(first);
  const wasMaking = making !== null && (await isThere(source, making));
  if (wasMaking) await dropDatabase(source, making);
  const before = wasMaking ? [] : null;
  const mayLack = kind === "database" || address.filename !== null;
  if (mayLack && !(await isThere(source, address))) return before;
  // It would be marked; what is there is not ours, whatever it is.
  const isElse = making !== null && !isMade;
  const { marks, tables } = await at(address, true, marksOf).catch((cause: unknown) => {
    if (isElse) return { marks: [], tables: [] };
    throw cause;
  });
  const isOurs = marks.length === 1 && marks[0] === mark;
  if (!isOurs && isElse) return before;
  const isBare = marks.length + tables.length === 0;
  if (kind === "tables") {
    if (isOurs) return empty(address, entry, tables);
    if (isBare) return before;
    throw taken(address);
  }
  // On MySQL it may have been killed before its table was made that marks it.
  const isBegun = marks.length === 0 && (await isMadeAs(source, address, mark));
  if (!isOurs && !isBegun) throw isBare && !isMade ? unmarked(address) : taken(address);
  await dropDatabase(source, address);
  return [];
}

/** Ours, if the server had made it when its rehearsal was killed, and somebody's, if it had not. */
function unmarked({ shown, database }: DatabaseAddress): MigrationError {
  return new MigrationError("N2I-E351", `${shown} is there, empty, and bears no mark of this run`, {
    why: "A rehearsal was killed as it made a database of this name; this one is that, or somebody's.",
    fix: `Ask whose it is. If it is nobody's: DROP DATABASE ${database}; then run the same command again.`,
  });
}

/** @returns tables of others, which stay */
async function empty(
  address: DatabaseAddress,
  { mark, tables = [] }: Resource,
  found: readonly string[],
): Promise<readonly string[]> {
  const ours = found.filter((name) => tables.includes(name));
  const others = found.filter((name) => !(ours.includes(name) || /^sqlite_/.test(name)));
  if (address.filename !== null && others.length === 0) emptyFile(address.filename);
  else await at(address, false, (copy) => dropAll(copy, ours, mark));
  return others;
}

/** Nobody takes back what a server was told to make; it goes on when whoever asked is dead. */
function atWork({ shown }: DatabaseAddress): MigrationError {
  return new MigrationError("N2I-E351", `the server is still making ${shown}`, {
    why: "It can be removed once it is made, and not before.",
    fix: "Wait until CREATE DATABASE ends (pg_stat_activity, SHOW PROCESSLIST), then run rehearse --undo.",
  });
}
