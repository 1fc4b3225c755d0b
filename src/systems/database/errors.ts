import { randomBytes } from "node:crypto";
import { MigrationError, systemCode } from "../../lib/error.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import type { Engine } from "../../model/database.ts";
import type { RawRow } from "./rows.ts";

/** Codes of MySQL, PostgreSQL (SQLSTATE), SQLite and sockets, with their refusals. */
const MEANING: readonly (readonly [RegExp, RefusalCode, string])[] = [
  [
    /^(ER_ACCESS_DENIED_ERROR|ER_ACCESS_DENIED_NO_PASSWORD_ERROR|28P01|28000)$/,
    "N2I-E201",
    "refuses the credentials",
  ],
  [/^(ER_BAD_DB_ERROR|3D000)$/, "N2I-E202", "has no database of this name"],
  [
    /^(ER_DBACCESS_DENIED_ERROR|ER_TABLEACCESS_DENIED_ERROR|ER_COLUMNACCESS_DENIED_ERROR|ER_SPECIFIC_ACCESS_DENIED_ERROR|ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|25006|0A000|42501|SQLITE_READONLY.*|SQLITE_PERM|SQLITE_AUTH)$/,
    "N2I-E206",
    "does not allow this operation for this user",
  ],
  [
    /^PXC_STRICT$/,
    "N2I-E206",
    "refuses GET_LOCK: set pxc_strict_mode to MASTER on the node that this tool writes to",
  ],
  [/^ESILENT$/, "N2I-E216", "did not answer in time"],
  [
    /^(ECLEAR|MYSQL_CLEAR_PASSWORD_NOT_ENABLED)$/,
    "N2I-E223",
    "requires the password in clear text",
  ],
  [
    // A Galera node without its cluster. After such a COMMIT error the outcome is unknown.
    /^(ER_UNKNOWN_COM_ERROR|ER_ERROR_DURING_COMMIT)$/,
    "N2I-E200",
    "is not ready, like a Galera node that has lost its cluster",
  ],
  [
    /^(ER_LOCK_DEADLOCK|ER_LOCK_WAIT_TIMEOUT|ER_CHECKREAD|40001|40P01|55P03|SQLITE_BUSY.*)$/,
    "N2I-E207",
    "has locked the rows for Ironic, Nova or another run of this tool: run the same command again",
  ],
  [
    /^(SQLITE_FULL|ER_DISK_FULL|ER_RECORD_FILE_FULL|53100)$/,
    "N2I-E207",
    "has no free disk space: free up space, then run the same command again",
  ],
  [
    /^(ER_DUP_ENTRY|23505|SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY))$/,
    "N2I-E300",
    "already contains a value that must be unique",
  ],
  [/^(ER_NO_SUCH_TABLE|42P01|SQLITE_NOTADB)$/, "N2I-E202", "is not the expected database"],
  [
    /^(ECONN.*|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|ENOENT|EACCES|PROTOCOL_.*|ER_CON_COUNT_ERROR|ER_SERVER_SHUTDOWN|ER_QUERY_INTERRUPTED|ER_CONNECTION_KILLED|08(?!P01)...|57P0.|53300|SQLITE_CANTOPEN.*|HANDSHAKE.*|CERT_.*|DEPTH_ZERO.*|SELF_SIGNED.*|UNABLE_TO_.*|ERR_TLS.*|HANDSHAKE_NO_SSL_SUPPORT)$/,
    "N2I-E200",
    "does not answer",
  ],
];

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const text = error instanceof Error ? error.message : "";
  // Percona XtraDB Cluster has no code for this error.
  if (/GET_LOCK.*pxc_strict_mode/.test(text)) return "PXC_STRICT";
  if ("code" in error && typeof error.code === "string") return error.code;
  if (/server does not support SSL/.test(text)) return "HANDSHAKE_NO_SSL_SUPPORT";
  if (/file is not a database/.test(text)) return "SQLITE_NOTADB";
  if (/unable to open database/i.test(text)) return "SQLITE_CANTOPEN";
  if (/readonly database|read-only/i.test(text)) return "SQLITE_READONLY";
  // An error without a code is a lost connection, for which drivers and knex have many messages.
  return isBug(error) ? "" : "ECONNRESET";
}

function coded(pattern: RegExp): (error: unknown) => boolean {
  return (error) => pattern.test(codeOf(error));
}

/** Whether the server refused because TLS is missing or unsupported. */
export const isOfEncryption = coded(
  /^(HANDSHAKE_.*|ERR_SSL_.*|EPROTO|28000|ER_SECURE_TRANSPORT_REQUIRED)$/,
);

export const isUnknownName = coded(/^ER_UNKNOWN_SYSTEM_VARIABLE$/);

/** Whether a conflict with another session caused the error, so that a retry may succeed. */
export const isContended = coded(
  /^(ER_LOCK_DEADLOCK|ER_LOCK_WAIT_TIMEOUT|ER_CHECKREAD|40001|40P01|SQLITE_BUSY.*)$/,
);

/** Whether a query that waits for no row failed as on a Galera node without its cluster. */
export const isOfCluster = coded(/^ER_(LOCK_WAIT_TIMEOUT|UNKNOWN_COM_ERROR)$/);

/** Drops the driver's text, because it may quote secrets. @param doing `reading bm_nodes` */
export function translate(error: unknown, doing: string, label: string): MigrationError {
  if (error instanceof MigrationError) return error;
  const code = codeOf(error);
  const [, refusal, problem] = MEANING.find(([pattern]) => pattern.test(code)) ?? [
    null,
    "N2I-E207" as const,
    "refuses the statement",
  ];
  if (code === "" && isBug(error)) throw error;
  return new MigrationError(refusal, `${doing}: ${label} ${problem} (${code || "no code"})`);
}

/** As `translate`, for a login, when nothing was read or written. */
export function refusedLogin(error: unknown, label: string): MigrationError {
  if (error instanceof Error && REFUSED.test(error.message)) return shared(label);
  const translated = translate(error, "connecting", label);
  if (translated.code !== "N2I-E207") return translated;
  return new MigrationError(
    translated.code,
    translated.message.replace("the statement", "the login"),
    {
      reason: "The server returned an error at login. Nothing was read or written.",
      fix: "Look up the server's error, and check that it accepts this user from this host.",
    },
  );
}

/** Bugs of this tool must not be reported as errors of the server. */
function isBug(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError
  );
}

/** Errors of poolers without support for login options. They have no code. */
const REFUSED = /unsupported startup parameter|command.line options/i;

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
export async function proveSession(engine: Engine, connection: unknown, label: string) {
  if (engine === "sqlite") return;
  const isMysql = engine === "mysql";
  const sql = isMysql ? "SELECT CONNECTION_ID() AS id" : MARKED;
  const [row] = await onConnection(engine, connection, sql).catch((error: unknown) => {
    // 42704: the session does not know the marker.
    if (systemCode(error) === "42704") return [];
    throw error;
  });
  // A proxy greets with its own id but forwards this statement.
  const isExclusive = isMysql
    ? Number(row?.id) % 2 ** 32 === (connection as Connection).threadId
    : row?.mark === MARK && row.source === "client";
  if (!isExclusive) throw shared(label);
}

/**
 * @source PostgreSQL, "pg_settings", column source: `client` is from the start-up packet, `session` from SET
 */
const MARKED =
  "SELECT current_setting('nova2ironic.session') AS mark, source FROM pg_settings WHERE name = 'array_nulls'";

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

function shared(label: string): MigrationError {
  return new MigrationError(
    "N2I-E224",
    `${label} is reached through a pooler or proxy that shares sessions between clients`,
  );
}
