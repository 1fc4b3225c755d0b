import { randomBytes } from "node:crypto";
import { MigrationError, systemCode } from "../../lib/error.ts";
import type { Engine } from "../../model/database.ts";
import type { RawRow } from "./rows.ts";

/** Per process, to detect a session that another process left in a pooler. */
const MARK = randomBytes(8).toString("hex");

/**
 * These identify a session: a marker, and a default value that the server attributes to the client.
 * Both are harmless if a pooler keeps the session for others.
 */
export const LOGIN_OPTIONS = `-c nova2ironic.session=${MARK} -c array_nulls=on`;

/**
 * Proves, before any setting, that no pooler shares one session between clients (pgbouncer) or
 * distributes statements over several (ProxySQL).
 *
 * @throws MigrationError N2I-E224, or the driver's error
 */
export async function proveSession(
  engine: Engine,
  connection: unknown,
  label: string,
): Promise<void> {
  const isExclusive =
    engine === "sqlite" ||
    (await (engine === "mysql" ? isMysqlSession : isPostgresqlSession)(connection));
  if (!isExclusive) throw shared(label);
}

/** The drivers' connections. The engine determines the driver. */
interface Connection {
  readonly exec: (sql: string) => void;
  readonly query: (
    sql: string,
    done?: (error: Error | null, rows: readonly RawRow[]) => void,
  ) => Promise<{ readonly rows: readonly RawRow[] }>;
  /** mysql2's session id in the server's greeting, 32 bits. */
  readonly threadId: number;
}

/** For a statement before the settings of a session. SQLite returns no rows. */
export async function onConnection(
  engine: Engine,
  connection: unknown,
  sql: string,
): Promise<readonly RawRow[]> {
  const driver = connection as Connection; // as above
  if (engine === "postgresql") return (await driver.query(sql)).rows;
  if (engine === "mysql")
    return new Promise((resolve, reject) => {
      void driver.query(sql, (error, rows) => (error === null ? resolve(rows) : reject(error)));
    });
  driver.exec(sql);
  return [];
}

export function shared(label: string): MigrationError {
  return new MigrationError(
    "N2I-E224",
    `${label} is reached through a pooler or proxy that shares sessions between clients`,
  );
}

/**
 * @source PostgreSQL, "pg_settings", column source: `client` is from the start-up packet, `session` from SET
 */
async function isPostgresqlSession(connection: unknown): Promise<boolean> {
  const sql =
    "SELECT current_setting('nova2ironic.session') AS mark, source FROM pg_settings WHERE name = 'array_nulls'";
  try {
    const [row] = await onConnection("postgresql", connection, sql);
    return row?.mark === MARK && row.source === "client";
  } catch (error) {
    // 42704: the session does not know the marker.
    if (systemCode(error) === "42704") return false;
    throw error;
  }
}

/** A proxy greets with its own id but forwards this statement. */
async function isMysqlSession(connection: unknown): Promise<boolean> {
  const { threadId } = connection as Connection; // as above
  const [row] = await onConnection("mysql", connection, "SELECT CONNECTION_ID() AS id");
  return Number(row?.id) % 2 ** 32 === threadId;
}
