import { closeSync, fstatSync, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { atExit } from "../../lib/files/at-exit.ts";
import type { Lock } from "../../model/ironic/target.ts";
import { translate } from "./errors.ts";
import type { Database } from "./open.ts";
import { ask, askNumber, integer, type Readable, text } from "./rows.ts";
import { committed, IDLE } from "./write.ts";

function lockedError(label: string): MigrationError {
  return new MigrationError("N2I-E302", `${label}: another nova2ironic process is writing to it`);
}

/** Names the session with the lock and the statement that ends it, if the user may see sessions. */
async function lockHolderOf(database: Readable, label: string, engine: "mysql" | "postgresql") {
  const sql = STATEMENTS[engine].holder;
  // Without this information, the lock itself is still reported.
  const [row = {}] = await ask(database, "looking for the lock's session", sql).catch(() => []);
  const [id, host, since] = [integer(row.id), text(row.host), text(row.since)];
  if (id === null) return lockedError(label);
  const from = host === null ? "" : ` from ${host}`;
  const age = since === null ? "" : `, last active at ${since} UTC`;
  const end = engine === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`;
  return new MigrationError(
    "N2I-E302",
    `${label}: another nova2ironic process is writing to it, in session ${id} of the server${from}${age}`,
    {
      fix: `If that run is still active, wait for it. If its host or its connection is lost, the server ends the session after ${IDLE / 60} minutes. To end it now, run on the server: ${end};`,
    },
  );
}

/**
 * Allows one writer per database. The lock ends with its connection, so a killed run leaves none,
 * and `committed` waits for that run's last transaction. Galera does not replicate GET_LOCK:
 * between two nodes, only the comparison of every row before its change protects.
 *
 * @source facts/ux.md 4.3
 */
export async function lockTarget(database: Database, idle = IDLE): Promise<Lock> {
  const { engine } = database;
  return engine === "sqlite" ? lockFile(database) : lockConnection(database, engine, idle);
}

const RUN_NAME = "CONCAT('nova2ironic.', MD5(DATABASE()))";
/** PostgreSQL's advisory lock, which is per database. */
const RUN_NUMBER = 6_672_153;

const STATEMENTS = {
  mysql: {
    take: `SELECT GET_LOCK(${RUN_NAME}, 0) AS got`,
    mine: `SELECT IS_USED_LOCK(${RUN_NAME}) = CONNECTION_ID() AS mine`,
    free: `SELECT RELEASE_LOCK(${RUN_NAME}) AS freed`,
    /** The LEFT JOIN returns the id without the privilege to see other sessions. */
    holder: `SELECT l.id, p.host, DATE_SUB(UTC_TIMESTAMP(), INTERVAL p.time SECOND) AS since FROM (SELECT IS_USED_LOCK(${RUN_NAME}) AS id) AS l LEFT JOIN information_schema.processlist AS p ON p.id = l.id`,
    idle: (seconds: number) => `SET SESSION wait_timeout=${seconds}`,
  },
  postgresql: {
    take: `SELECT pg_try_advisory_lock(${RUN_NUMBER})::int AS got`,
    mine: "SELECT 1 AS mine",
    free: `SELECT pg_advisory_unlock(${RUN_NUMBER})::int AS freed`,
    holder: `SELECT l.pid AS id, host(a.client_addr) AS host, to_char(a.state_change AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS since FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = ${RUN_NUMBER} AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.granted LIMIT 1`,
    idle: (seconds: number) =>
      `SELECT set_config(name, '${seconds}s', false) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`,
  },
} as const;

async function lockConnection(
  database: Database,
  engine: "mysql" | "postgresql",
  idle: number,
): Promise<Lock> {
  const { label, run } = database;
  const { take, mine, free } = STATEMENTS[engine];
  const trx = await run("taking the lock", () => database.knex.transaction());
  const inside = { engine, run, knex: trx };
  let last: Promise<unknown> = Promise.resolve();
  // Queries are serialised, because pg accepts one at a time.
  const isSo = async (sql: string): Promise<boolean> => {
    const ask = () => askNumber(inside, "asking for the lock", sql);
    const answer = last.then(ask, ask);
    last = answer;
    return (await answer) === 1;
  };
  try {
    if (!(await isSo(take))) throw await lockHolderOf(inside, label, engine);
    await run("taking the lock", () => trx.raw(STATEMENTS[engine].idle(idle)));
    await committed(database);
  } catch (error) {
    await trx.rollback().catch(() => null);
    throw error;
  }
  const heard = setInterval(() => void isSo(mine).catch(() => null), (idle * 1000) / 4).unref();
  return {
    async check() {
      const isMine = await isSo(mine).catch((cause: unknown) => {
        const reason = `${label}: the connection that held the lock is lost`;
        throw new MigrationError("N2I-E200", reason, { cause });
      });
      if (!isMine) throw lockedError(label);
    },
    async release() {
      clearInterval(heard);
      // The connection's end releases the lock. A dead server must not hide the first error.
      await isSo(free).catch(() => null);
      await trx.rollback().catch(() => null);
    },
  };
}

/**
 * SQLite has no advisory locks, so an exclusive transaction on a file next to the database serves
 * as one. The file is removed with the lock, so the lock is valid only while the path has its inode.
 */
function lockFile({ address, label }: Database): Lock {
  // Resolves links, because other paths may lead to the same database.
  const path = `${realpathSync(address.filename ?? "")}.nova2ironic-lock`;
  const Libsql = createRequire(import.meta.url)("libsql") as new (
    file: string,
  ) => { exec: (sql: string) => void; close: () => void };
  let connection: InstanceType<typeof Libsql>;
  let file: number;
  try {
    // Opened before libsql and kept open, so that its inode is not reused.
    file = openSync(path, "a", 0o600);
    connection = new Libsql(path);
  } catch (error) {
    throw translate(error, "making the lock file", label);
  }
  const inode = fstatSync(file).ino;
  const mine = (): boolean => statSync(path, { throwIfNoEntry: false })?.ino === inode;
  // Last, because closing any descriptor of a file releases all locks of the process on it.
  const close = (): void => {
    connection.close();
    closeSync(file);
  };
  try {
    connection.exec("PRAGMA busy_timeout=0");
    connection.exec("BEGIN EXCLUSIVE");
    if (!mine()) throw lockedError(label);
  } catch (error) {
    close();
    if (error instanceof MigrationError) throw error;
    const isBusy = systemCode(error)?.startsWith("SQLITE_BUSY") === true;
    throw isBusy ? lockedError(label) : translate(error, "taking the lock", label);
  }
  const remove = (): void => {
    if (mine()) rmSync(path, { force: true });
  };
  const cancelCleanup = atExit(remove);
  return {
    async check() {
      if (!mine())
        throw new MigrationError("N2I-E302", `${path} was removed while the lock was held`);
    },
    async release() {
      cancelCleanup();
      remove();
      close();
    },
  };
}
