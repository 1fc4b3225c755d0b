import { randomBytes } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import type { Engine } from "../../model/database.ts";

/** Per process, to detect a session that another process left in a pooler. */
const MARK = randomBytes(8).toString("hex");

/**
 * Identify a session: a marker, and a default value that the server then attributes to the client.
 * Both are harmless if a pooler keeps the session for others.
 */
export const LOGIN_OPTIONS = `-c nova2ironic.session=${MARK} -c array_nulls=on`;

/**
 * Proves, before any setting, that no pooler shares one session between clients (pgbouncer) or
 * distributes statements over several (ProxySQL).
 *
 * @throws MigrationError N2I-E224, or the driver's error
 */
export async function proveOwn(engine: Engine, connection: unknown, shown: string): Promise<void> {
  const isOwn =
    engine === "sqlite" ||
    (await (engine === "mysql" ? isOwnOfMysql : isOwnOfPostgresql)(connection));
  if (!isOwn) throw shared(shown);
}

/** Errors of poolers without support for login options. They have no code. */
const REFUSED = /unsupported startup parameter|command.line options/i;

export function isOfPooler(error: unknown): boolean {
  return error instanceof Error && REFUSED.test(error.message);
}

export function shared(shown: string): MigrationError {
  return new MigrationError(
    "N2I-E224",
    `${shown} is reached through a pooler or proxy that shares sessions between clients`,
  );
}

interface Pg {
  readonly query: (text: string) => Promise<{ readonly rows: readonly Answer[] }>;
}

interface Answer {
  readonly mark: unknown;
  readonly source: unknown;
}

/**
 * @source PostgreSQL, "pg_settings", column source: `client` is from the start-up packet, `session` from SET
 */
async function isOwnOfPostgresql(connection: unknown): Promise<boolean> {
  const sql =
    "SELECT current_setting('nova2ironic.session') AS mark, source FROM pg_settings WHERE name = 'array_nulls'";
  try {
    // The engine determines the driver.
    const { rows } = await (connection as Pg).query(sql);
    return rows[0]?.mark === MARK && rows[0].source === "client";
  } catch (error) {
    // 42704: the session does not know the marker.
    if (error instanceof Error && "code" in error && error.code === "42704") return false;
    throw error;
  }
}

interface Mysql {
  /** The session id in the server's greeting, 32 bits. */
  readonly threadId: number;
  readonly query: (
    text: string,
    done: (error: Error | null, rows: readonly { readonly id: unknown }[]) => void,
  ) => void;
}

/** A proxy greets with its own id but forwards this statement. */
async function isOwnOfMysql(connection: unknown): Promise<boolean> {
  const raw = connection as Mysql; // as above
  const rows = await new Promise<readonly { readonly id: unknown }[]>((resolve, reject) => {
    raw.query("SELECT CONNECTION_ID() AS id", (error, found) =>
      error === null ? resolve(found) : reject(error),
    );
  });
  return Number(rows[0]?.id) % 2 ** 32 === raw.threadId;
}
