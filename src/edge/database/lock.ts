import { closeSync, fstatSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { MigrationError } from "../../model/error.ts";
import type { Lock } from "../../model/target.ts";
import { atExit } from "../process/at-exit.ts";
import { translate } from "./errors.ts";
import type { Database } from "./open.ts";
import { askNumber } from "./rows.ts";
import { untilEnded } from "./write.ts";

const NAME = "nova2ironic";
/** The advisory lock's number on PostgreSQL; the lock is of this database only. */
const NUMBER = 6_672_153;

function held(shown: string): MigrationError {
  return new MigrationError("N2I-E302", `${shown}: another nova2ironic is writing to it`);
}

/**
 * One writer at a time on one database. The lock lives in a connection of its own and dies
 * with it, so a killed run leaves none behind; what the server still makes of that run's last
 * transaction is waited for (`write.ts`).
 *
 * Galera does not carry GET_LOCK from node to node: two runs through two nodes are kept apart only
 * by the comparison of every row before it is written. @source facts/ux.md 4.3
 */
export async function lockTarget(database: Database): Promise<Lock> {
  const { engine } = database;
  return engine === "sqlite" ? lockFile(database) : lockConnection(database, engine);
}

const MYSQL_NAME = `CONCAT('${NAME}.', MD5(DATABASE()))`;

/** Each is answered by 1: it is taken, it is ours still, it is given back. */
const STATEMENTS = {
  mysql: {
    take: `SELECT GET_LOCK(${MYSQL_NAME}, 0) AS got`,
    mine: `SELECT IS_USED_LOCK(${MYSQL_NAME}) = CONNECTION_ID() AS mine`,
    free: `SELECT RELEASE_LOCK(${MYSQL_NAME}) AS freed`,
  },
  postgresql: {
    take: `SELECT pg_try_advisory_lock(${NUMBER})::int AS got`,
    mine: "SELECT 1 AS mine",
    free: `SELECT pg_advisory_unlock(${NUMBER})::int AS freed`,
  },
} as const;

async function lockConnection(database: Database, engine: "mysql" | "postgresql"): Promise<Lock> {
  const { shown, run } = database;
  const { take, mine, free } = STATEMENTS[engine];
  const trx = await run("taking the lock", () => database.knex.transaction());
  const isSo = async (sql: string): Promise<boolean> =>
    (await askNumber(database, "asking for the lock", sql, [], trx)) === 1;
  if (!(await isSo(take))) {
    await trx.rollback();
    throw held(shown);
  }
  try {
    await untilEnded(database);
  } catch (error) {
    await trx.rollback().catch(() => null);
    throw error;
  }
  return {
    async check() {
      const isMine = await isSo(mine).catch((cause: unknown) => {
        const why = `${shown}: the connection that held the lock is gone`;
        throw new MigrationError("N2I-E200", why, { cause });
      });
      if (!isMine) throw held(shown);
    },
    async release() {
      // The lock dies with the connection anyway; a dead server must not hide the real error.
      await isSo(free).catch(() => null);
      await trx.rollback().catch(() => null);
    },
  };
}

/**
 * SQLite has no advisory locks: an exclusive transaction on a file beside the database is one. The
 * file goes with the lock. Who waited for it at that moment, or comes after a hand that removed it,
 * has another file of that name: only while the name is still the file that was locked is it held.
 */
function lockFile({ address, shown }: Database): Lock {
  // By any other name it is the same database.
  const path = `${realpathSync(address.filename ?? "")}.nova2ironic-lock`;
  const Libsql = createRequire(import.meta.url)("libsql") as new (
    file: string,
  ) => { exec: (sql: string) => void; close: () => void };
  let connection: InstanceType<typeof Libsql>;
  let file: number;
  try {
    // Opened before libsql does, and open as long: its number is given to no other file meanwhile.
    file = openSync(path, "a", 0o600);
    connection = new Libsql(path);
  } catch (error) {
    throw translate(error, "making the lock file", shown);
  }
  const ours = fstatSync(file).ino;
  const mine = (): boolean => statSync(path, { throwIfNoEntry: false })?.ino === ours;
  // Closing any descriptor of a file gives up all locks this process has on it: so this comes last.
  const close = (): void => {
    connection.close();
    closeSync(file);
  };
  try {
    connection.exec("PRAGMA busy_timeout=0");
    connection.exec("BEGIN EXCLUSIVE");
    if (!mine()) throw held(shown);
  } catch (error) {
    close();
    if (error instanceof MigrationError) throw error;
    const busy =
      error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
    throw busy ? held(shown) : translate(error, "taking the lock", shown);
  }
  const remove = (): void => {
    if (mine()) rmSync(path, { force: true });
  };
  const gone = atExit(remove);
  return {
    async check() {
      if (!mine()) throw new MigrationError("N2I-E302", `${path} was removed while it was held`);
    },
    async release() {
      gone();
      remove();
      close();
    },
  };
}
