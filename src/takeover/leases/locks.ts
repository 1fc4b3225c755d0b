import { randomUUID } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import type { Database } from "../../systems/database/open.ts";
import { read, sql } from "../../systems/database/read.ts";
import { number, string, text } from "../../systems/database/rows.ts";
import { clockOf, stated } from "../../systems/database/statement.ts";
import { adding } from "./leases.ts";
import { settled } from "./nodes.ts";

interface AcquiredLock {
  readonly resource: string;
  /** Differs for each owner, so a write with another nonce is from a stale holder. */
  readonly nonce: string;
}

interface Holder {
  readonly owner: string;
  /** Milliseconds, longer than the longest step between two renewals. */
  readonly ttl: number;
  /** Suffix of an owner with only one running instance, which may reacquire its old locks. */
  readonly again?: string;
}

/** Renewals during the duration of a lock. */
const RENEWALS = 6;

/**
 * Takes all locks or none. It does not wait for a lock, so the order does not matter. A timer renews
 * them, because a step may outlast them. `renew` checks that they are still held.
 *
 * @param database opened with `autocommit`
 * @param resources `host:NAME`, `node:UUID` or `instance:UUID`, in lower case
 * @throws MigrationError N2I-E362 with the holder of a lock
 */
export async function keepLocks(database: Database, resources: readonly string[], holder: Holder) {
  const locks: AcquiredLock[] = [];
  const giveBack = async (): Promise<void> => {
    for (const lock of locks.splice(0).toReversed()) await releaseLock(database, lock);
  };
  const renew = async (): Promise<void> => {
    for (const lock of locks)
      if (!(await renewLock(database, lock, holder.ttl)))
        throw await lockedByAnother(database, lock.resource);
  };
  try {
    for (const name of new Set(resources)) {
      const lock = await acquireLock(database, name, holder);
      if (lock === null) throw await lockedByAnother(database, name);
      locks.push(lock);
    }
  } catch (error) {
    await giveBack().catch(() => undefined); // they expire, and the first error matters more
    throw error;
  }
  let renewing: Promise<void> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch(() => undefined) // `renew` reports a lost lock
      .finally(() => {
        renewing = null;
      });
  }, holder.ttl / RENEWALS);
  timer.unref();
  return {
    /** To be called between steps. @throws MigrationError N2I-E362 if a lock was lost */
    renew,
    async release(): Promise<void> {
      clearInterval(timer);
      await renewing;
      await giveBack();
    },
  };
}

/** Null if another owner holds it. A single statement decides. @source systems.md A4 */
export async function acquireLock(
  database: Database,
  resource: string,
  { owner, ttl, again }: Holder,
): Promise<AcquiredLock | null> {
  const { engine } = database;
  const now = clockOf(engine);
  const nonce = randomUUID();
  const field = { resource: text };
  const existing = await read(database, field, "bm_locks WHERE resource = ?", [resource]);
  const add = adding(engine, "bm_locks (resource) VALUES (?)");
  if (existing.length === 0) await stated(database, "adding a lock", add, [resource]);
  const take = `UPDATE bm_locks SET owner = ?, nonce = ?, token = token + 1, expires_ms = ${now} + ${ttl} WHERE resource = ? AND (owner IS NULL OR expires_ms <= ${now}${again === undefined ? "" : " OR owner LIKE ?"})`;
  const values = [owner, nonce, resource, ...(again === undefined ? [] : [`%${again}`])];
  const taken = await settled(stated(database, "taking a lock", take, values));
  const touch = "UPDATE bm_locks SET owner = owner WHERE resource = ?";
  // If the response was lost, the server may still be executing the statement.
  if (taken === null) await stated(database, "waiting for a lock's row", touch, [resource]);
  if (taken === 0) return null;
  const mine = "bm_locks WHERE resource = ? AND nonce = ? AND owner IS NOT NULL";
  const rows = await read(database, field, mine, [resource, nonce]);
  return rows.length === 0 ? null : { resource, nonce };
}

/** False if it expired and another owner took it. */
export async function renewLock(
  database: Database,
  { resource, nonce }: AcquiredLock,
  ttl: number,
): Promise<boolean> {
  const later = `UPDATE bm_locks SET expires_ms = ${clockOf(database.engine)} + ${ttl} WHERE resource = ? AND nonce = ? AND owner IS NOT NULL`;
  const renewed = () => settled(stated(database, "renewing a lock", later, [resource, nonce]));
  // Repeatable, because it compares the nonce.
  return ((await renewed()) ?? (await renewed()) ?? 0) === 1;
}

export async function releaseLock(
  database: Database,
  { resource, nonce }: AcquiredLock,
): Promise<boolean> {
  const free = "UPDATE bm_locks SET owner = NULL, expires_ms = 0 WHERE resource = ? AND nonce = ?";
  return (await stated(database, "releasing a lock", free, [resource, nonce])) === 1;
}

interface LockState {
  readonly resource: string;
  readonly owner: string;
  /** Milliseconds until it expires by the server's clock; negative: expired. */
  readonly remaining: number;
}

/** Locks that were taken and not released, ordered by resource. */
export function takenLocks(database: Database): Promise<readonly LockState[]> {
  const remaining = sql(`expires_ms - ${clockOf(database.engine)}`, number);
  const from = "bm_locks WHERE owner IS NOT NULL ORDER BY resource";
  return read(database, { resource: string, owner: string, remaining }, from);
}

export async function acquiredLocks(database: Database): Promise<readonly LockState[]> {
  return (await takenLocks(database)).filter(({ remaining }) => remaining > 0);
}

export function holderText({ owner, remaining }: LockState): string {
  const seconds = Math.ceil(Math.abs(remaining) / 1000);
  return remaining > 0 ? `${owner}, ${seconds} s` : `${owner}, expired ${seconds} s ago`;
}

async function lockedByAnother(database: Database, resource: string): Promise<MigrationError> {
  const holder = (await acquiredLocks(database)).find((lock) => lock.resource === resource);
  const who =
    holder === undefined
      ? "was held by another owner a moment ago"
      : `is held by ${holder.owner} for ${Math.ceil(holder.remaining / 1000)} s more`;
  return new MigrationError("N2I-E362", `the lock ${resource} ${who}`);
}
