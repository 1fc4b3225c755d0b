import { randomBytes } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import type { Engine } from "../../model/database.ts";

/** Of this process: a session that another one left in a pooler has another. */
const MARK = randomBytes(8).toString("hex");

/**
 * What PostgreSQL is told at login, to be asked for afterwards: a name of ours, and the usual value of a setting that
 * the server then says is the client's. They change nothing, should a pooler keep the session for others.
 */
export const LOGIN_OPTIONS = `-c nova2ironic.session=${MARK} -c array_nulls=on`;

/**
 * Proves, before anything is set, that what is set in a session stays in it: that between us and the server nobody
 * takes statements of several clients to one session, as pgbouncer does, or ours to several, as ProxySQL does.
 *
 * @throws MigrationError N2I-E224; else the driver's error
 */
export async function proveOwn(engine: Engine, connection: unknown, shown: string): Promise<void> {
  const isOwn =
    engine === "sqlite" ||
    (await (engine === "mysql" ? isOwnOfMysql : isOwnOfPostgresql)(connection));
  if (!isOwn) throw shared(shown);
}

/** What a pooler answers who knows no options at login; without a code of its own. */
const REFUSED = /unsupported startup parameter|command.line options/i;

/** Whether a login was refused by a pooler, for what `LOGIN_OPTIONS` asks. */
export function isOfPooler(error: unknown): boolean {
  return error instanceof Error && REFUSED.test(error.message);
}

export function shared(shown: string): MigrationError {
  return new MigrationError(
    "N2I-E224",
    `${shown} is reached through a pooler or proxy that has sessions of its own`,
  );
}

interface Pg {
  readonly query: (text: string) => Promise<{ readonly rows: readonly Answer[] }>;
}

interface Answer {
  readonly mark: unknown;
  readonly source: unknown;
}

/** @source PostgreSQL, "pg_settings", column source: `client` is what the start-up packet said, `session` what SET did */
async function isOwnOfPostgresql(connection: unknown): Promise<boolean> {
  const sql =
    "SELECT current_setting('nova2ironic.session') AS mark, source FROM pg_settings WHERE name = 'array_nulls'";
  try {
    // The engine says which driver it is.
    const { rows } = await (connection as Pg).query(sql);
    return rows[0]?.mark === MARK && rows[0].source === "client";
  } catch (error) {
    // 42704: the session does not know the name.
    if (error instanceof Error && "code" in error && error.code === "42704") return false;
    throw error;
  }
}

interface Mysql {
  /** What the server called the session in its greeting: 32 bits. */
  readonly threadId: number;
  readonly query: (
    text: string,
    done: (error: Error | null, rows: readonly { readonly id: unknown }[]) => void,
  ) => void;
}

/** A proxy greets with a number of its own; this statement it hands on. */
async function isOwnOfMysql(connection: unknown): Promise<boolean> {
  const raw = connection as Mysql; // as above
  const rows = await new Promise<readonly { readonly id: unknown }[]>((resolve, reject) => {
    raw.query("SELECT CONNECTION_ID() AS id", (error, found) =>
      error === null ? resolve(found) : reject(error),
    );
  });
  return Number(rows[0]?.id) % 2 ** 32 === raw.threadId;
}
