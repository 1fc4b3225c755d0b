import { randomUUID } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import type { Database } from "../../systems/database/open.ts";
import { read, sql } from "../../systems/database/read.ts";
import { number, string, text } from "../../systems/database/rows.ts";
import { clockOf, isUnanswered, stated } from "../../systems/database/statement.ts";
import { adding } from "./leases.ts";

/** What is locked, in the order locks are taken. */
type Lockable =
  | { readonly kind: "host"; readonly name: string }
  | { readonly kind: "node" | "instance"; readonly uuid: string };

const ORDER = ["host", "node", "instance"] as const;

/** A lock that is ours until it expires. */
interface HeldLock {
  readonly resource: string;
  readonly nonce: string;
  /** One more with each owner: a write that carries an older one is a stale holder's. */
  readonly token: number;
}

/** Locks of one work, taken in one order by everybody. */
interface HeldLocks {
  readonly locks: readonly HeldLock[];
  /** To be called between two steps. @throws MigrationError N2I-E362 when one was lost meanwhile */
  readonly renew: () => Promise<void>;
  readonly release: () => Promise<void>;
}

interface Holding {
  /** For people: who has it. */
  readonly owner: string;
  /** Milliseconds; longer than the longest step between two renewals. */
  readonly ttl: number;
  /** How the owner ends who never acts twice at once: what it died with is its own again. */
  readonly again?: string;
}

/** As a row of bm_locks names it. */
function resourceOf(resource: Lockable): string {
  return resource.kind === "host"
    ? `host:${resource.name}`
    : `${resource.kind}:${resource.uuid.toLowerCase()}`;
}

/** How often a lock is renewed in the time it lasts. */
const RENEWALS = 6;

/**
 * Takes all of them or none: hosts by name, then nodes, then instances, so that no two wait for each
 * other. They are renewed by themselves until they are given back: a step may take longer than they last. Whether they
 * are ours still, `renew` says.
 *
 * @param database opened with `autocommit`
 * @throws MigrationError N2I-E362 naming who holds one
 */
export async function keepLocks(
  database: Database,
  resources: readonly Lockable[],
  holding: Holding,
): Promise<HeldLocks> {
  const names = [...new Set(inOrder(resources).map(resourceOf))];
  const locks: HeldLock[] = [];
  const giveBack = async (): Promise<void> => {
    for (const lock of locks.splice(0).toReversed()) await releaseLock(database, lock);
  };
  const renew = async (): Promise<void> => {
    for (const lock of locks)
      if (!(await renewLock(database, lock, holding.ttl)))
        throw await heldByAnother(database, lock.resource);
  };
  try {
    for (const name of names) {
      const lock = await acquireLock(database, name, holding);
      if (lock === null) throw await heldByAnother(database, name);
      locks.push(lock);
    }
  } catch (error) {
    await giveBack().catch(() => undefined); // they expire; why it failed says more
    throw error;
  }
  let renewing: Promise<void> | null = null;
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch(() => undefined) // it is asked once more before it counts
      .finally(() => {
        renewing = null;
      });
  }, holding.ttl / RENEWALS);
  timer.unref();
  return {
    ...{ locks, renew },
    async release() {
      clearInterval(timer);
      await renewing;
      await giveBack();
    },
  };
}

function inOrder(resources: readonly Lockable[]): readonly Lockable[] {
  const rank = ({ kind }: Lockable): number => ORDER.indexOf(kind);
  return resources.toSorted(
    (one, other) => rank(one) - rank(other) || (resourceOf(one) < resourceOf(other) ? -1 : 1),
  );
}

/**
 * One try: null when another holds it. Who wins is said by one statement, whose row count is final.
 *
 * @source systems.md A4
 */
export async function acquireLock(
  database: Database,
  resource: string,
  { owner, ttl, again }: Holding,
): Promise<HeldLock | null> {
  const { engine } = database;
  const now = clockOf(engine);
  const nonce = randomUUID();
  const known = await read(database, { resource: text }, "bm_locks WHERE resource = ?", [resource]);
  const add = adding(engine, "bm_locks (resource) VALUES (?)");
  if (known.length === 0) await stated(database, "adding a lock", add, [resource]);
  const take = `UPDATE bm_locks SET owner = ?, nonce = ?, token = token + 1, expires_ms = ${now} + ${ttl} WHERE resource = ? AND (owner IS NULL OR expires_ms <= ${now}${again === undefined ? "" : " OR owner LIKE ?"})`;
  const values = [owner, nonce, resource, ...(again === undefined ? [] : [`%${again}`])];
  const taken = await settled(stated(database, "taking a lock", take, values));
  if (taken === null) await passed(database, resource);
  return taken === 0 ? null : ownLock(database, resource, nonce);
}

/** Rows it changed; null when no answer came, and the row itself must say what became of it. */
async function settled(statement: Promise<number>): Promise<number | null> {
  return statement.catch((error: unknown) => {
    if (!isUnanswered(error)) throw error;
    return null;
  });
}

/** Waits behind a statement whose answer is lost: the server may work on it still. */
async function passed(database: Database, resource: string): Promise<void> {
  const touch = "UPDATE bm_locks SET owner = owner WHERE resource = ?";
  await stated(database, "waiting for a lock's row", touch, [resource]);
}

/** The lock as its row has it, if our nonce stands there. */
async function ownLock(
  database: Database,
  resource: string,
  nonce: string,
): Promise<HeldLock | null> {
  const from = "bm_locks WHERE resource = ? AND nonce = ? AND owner IS NOT NULL";
  const [row] = await read(database, { token: number }, from, [resource, nonce]);
  return row === undefined ? null : { resource, nonce, token: row.token };
}

/** False when it is not ours any more: another took it once it had expired. */
export async function renewLock(
  database: Database,
  { resource, nonce, token }: HeldLock,
  ttl: number,
): Promise<boolean> {
  const later = `UPDATE bm_locks SET expires_ms = ${clockOf(database.engine)} + ${ttl} WHERE resource = ? AND nonce = ? AND token = ? AND owner IS NOT NULL`;
  const renewed = async () =>
    settled(stated(database, "renewing a lock", later, [resource, nonce, token]));
  // Once more does no harm: it is compared again.
  return ((await renewed()) ?? (await renewed()) ?? 0) === 1;
}

/** Whether it was ours until now. */
export async function releaseLock(
  database: Database,
  { resource, nonce, token }: HeldLock,
): Promise<boolean> {
  const free =
    "UPDATE bm_locks SET owner = NULL, expires_ms = 0 WHERE resource = ? AND nonce = ? AND token = ?";
  const values = [resource, nonce, token];
  return (await stated(database, "giving a lock back", free, values)) === 1;
}

/** A lock that somebody took, and did not give back. */
export interface LockState {
  readonly resource: string;
  readonly owner: string;
  /** Milliseconds until it expires, by the server's clock; less than none: its owner died, or is slow. */
  readonly left: number;
}

/** Locks that were taken and not given back, by their resource. */
export function takenLocks(database: Database): Promise<readonly LockState[]> {
  const left = sql(`expires_ms - ${clockOf(database.engine)}`, number);
  const from = "bm_locks WHERE owner IS NOT NULL ORDER BY resource";
  return read(database, { resource: string, owner: string, left }, from);
}

/** Those that are held now. */
export async function heldLocks(database: Database): Promise<readonly LockState[]> {
  return (await takenLocks(database)).filter(({ left }) => left > 0);
}

/** Who has a lock, for people. */
export function holderText({ owner, left }: LockState): string {
  const seconds = Math.ceil(Math.abs(left) / 1000);
  return left > 0 ? `${owner}, ${seconds} s` : `${owner}, ran out ${seconds} s ago`;
}

async function heldByAnother(database: Database, resource: string): Promise<MigrationError> {
  const holder = (await heldLocks(database)).find((lock) => lock.resource === resource);
  const who =
    holder === undefined
      ? "was another's a moment ago"
      : `is ${holder.owner}'s for ${Math.ceil(holder.left / 1000)} s more`;
  return new MigrationError("N2I-E362", `the lock ${resource} ${who}`);
}
