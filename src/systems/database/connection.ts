import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, isIP, type Socket } from "node:net";
import type { Knex } from "knex";
import { MigrationError } from "../../lib/error.ts";
import type { DatabaseAddress } from "../../model/database.ts";
import { LOGIN_OPTIONS } from "./errors.ts";

const require = createRequire(import.meta.url);

function pem(name: "ca" | "cert" | "key", path: string | null) {
  if (path === null) return {};
  try {
    return { [name]: readFileSync(path, "utf8") };
  } catch (cause) {
    throw new MigrationError("N2I-E102", `the TLS file ${path} cannot be read`, { cause });
  }
}

/**
 * Whether to encrypt, in the order of attempts. Modes below verify-ca check no certificate.
 *
 * @source libpq, "SSL Support", table "SSL Mode Descriptions"; mysql(1) --ssl-mode
 */
export function encryption({
  tls: options,
  socket,
}: DatabaseAddress): readonly [boolean, ...boolean[]] {
  if (socket !== null && options?.mode === "prefer") return [false]; // nothing goes over a network
  switch (options?.mode) {
    case undefined:
    case "disable":
      return [false];
    case "allow":
      return [false, true];
    case "prefer":
      return [true, false];
    default:
      return [true];
  }
}

/** libpq's modes. A CA without a mode verifies, like SQLAlchemy's ssl_ca. */
function tls({ tls: tlsOptions, socket }: DatabaseAddress, encrypted: boolean) {
  if (tlsOptions === null || !encrypted) return null;
  // Without verifyIdentity, mysql2 does not check the host name.
  return {
    rejectUnauthorized: tlsOptions.mode.startsWith("verify"),
    ...pem("ca", tlsOptions.ca),
    ...pem("cert", tlsOptions.cert),
    ...pem("key", tlsOptions.key),
    ...(tlsOptions.mode === "verify-ca" && { checkServerIdentity: () => undefined }),
    ...(tlsOptions.mode === "verify-full" && socket === null && { verifyIdentity: true }),
  };
}

function loginOf({ user, password, database }: DatabaseAddress) {
  const secret = password();
  return { ...(user !== null && { user }), ...(secret !== null && { password: secret }), database };
}

/** Milliseconds of silence before TCP keep-alive probes. */
const ALIVE = 30_000;

/** For an IP address, node:tls verifies the certificate against "localhost" without `_host`. */
function socketFactory({ host, port }: DatabaseAddress): () => Socket {
  const to = host ?? "127.0.0.1";
  const settings = { host: to, port: port ?? 3306 };
  return () =>
    Object.assign(
      connect({ ...settings, keepAlive: true, keepAliveInitialDelay: ALIVE, noDelay: true }),
      { _host: to },
    );
}

/** Exact integers as strings, naive UTC times, four-byte characters. @source facts/ux.md 4.3 */
function mysqlConnection(address: DatabaseAddress, encrypted: boolean) {
  const ssl = tls(address, encrypted);
  return {
    ...(address.socket === null
      ? { host: address.host ?? "127.0.0.1", port: address.port ?? 3306 }
      : { socketPath: address.socket }),
    ...loginOf(address),
    charset: "utf8mb4", // Not the charset of the address: utf8 or latin1 would lose characters.
    dateStrings: true,
    timezone: "Z",
    supportBigNumbers: true,
    bigNumberStrings: true,
    connectTimeout: 15_000,
    ...{ enableKeepAlive: true, keepAliveInitialDelay: ALIVE },
    ...(ssl?.verifyIdentity === true &&
      isIP(address.host ?? "127.0.0.1") > 0 && { stream: socketFactory(address) }),
    // mysql2 accepts node:tls options. knex's type allows a string only.
    ...(ssl !== null && { ssl: ssl as never }),
  };
}

const TEXT_OIDS: ReadonlySet<number> = new Set([20, 1082, 1114, 1184, 1700]);

type Parsers = { getTypeParser(oid: number, format?: string): (value: string) => unknown };

/** For this connection only: BIGINT, NUMERIC and times stay text. */
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    TEXT_OIDS.has(oid)
      ? (value: string) => value
      : (require("pg") as { types: Parsers }).types.getTypeParser(oid, format),
};

function postgresConnection(address: DatabaseAddress, encrypted: boolean) {
  const ssl = tls(address, encrypted);
  return {
    host: address.socket ?? address.host ?? "127.0.0.1",
    ...(address.port !== null && { port: address.port }),
    ...loginOf(address),
    application_name: "nova2ironic",
    // Keeps the operator's PGOPTIONS, which this property would otherwise override.
    ...({ options: `${process.env.PGOPTIONS ?? ""} ${LOGIN_OPTIONS}`.trim() } as object),
    connectionTimeoutMillis: 15_000,
    ...{ keepAlive: true, keepAliveInitialDelayMillis: ALIVE },
    // knex's types omit node:tls options and the types object, which pg accepts.
    ...(ssl !== null && { ssl: ssl as never }),
    ...({ types } as object),
  };
}

export interface DatabaseTimeout {
  /** In milliseconds, after which the connection is closed. */
  readonly limit: number;
  /** Receives a message after half of the time. */
  readonly report: (text: string) => void;
}

/**
 * Milliseconds for further statements after a timeout, because they delay the end of the command.
 */
const PARTING = 2000;

/** By host and port. Other connections to a silent server would also time out. */
const silent = new Set<string>();

/** The sockets of mysql2's and pg's connections. */
interface Raw {
  readonly stream?: Socket;
  readonly connection?: { readonly stream?: Socket };
}

/** Closes the socket without a protocol message, because the server does not respond. */
export function hangUp(raw: unknown): void {
  // The properties identify the driver. SQLite's driver has neither.
  const { stream, connection } = raw as Raw;
  (stream ?? connection?.stream)?.destroy();
}

/** @throws Error with the code ESILENT after the timeout, when the outcome is unknown */
async function answered<T>(
  work: Promise<T>,
  raw: unknown,
  { host, socket, port, label }: DatabaseAddress,
  { limit, report }: DatabaseTimeout,
): Promise<T> {
  const server = `${host ?? socket}:${port}`;
  const wait = silent.has(server) ? Math.min(PARTING, limit) : limit;
  const seconds = (part: number): string => `${Math.round(part / 100) / 10} s`;
  let timers: readonly NodeJS.Timeout[] = [];
  const gaveUp = new Promise<never>((_, reject) => {
    const notice = (): void =>
      report(
        `No answer from ${label} for ${seconds(limit / 2)}. The connection is closed after ${seconds(limit)} (--db-timeout).`,
      );
    const end = (): void => {
      silent.add(server);
      reject(Object.assign(new Error(`no answer for ${seconds(wait)}`), { code: "ESILENT" }));
      hangUp(raw);
    };
    timers = [...(wait === limit ? [setTimeout(notice, limit / 2)] : []), setTimeout(end, wait)];
  });
  try {
    const answer = await Promise.race([work, gaveUp]);
    silent.delete(server);
    return answer;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

interface Dialect {
  _driver(): unknown;
  _query(connection: unknown, statement: object): Promise<unknown>;
}

/**
 * A statement compiled by knex, which reads its result from `response`. `through` is a protocol
 * exchange on the driver's connection instead of a statement: an option of knex's `raw`.
 */
interface Statement {
  readonly options?: { readonly through?: (connection: unknown) => Promise<unknown> };
}

/** The parts of pg's client that send a password. */
interface PasswordRequest {
  readonly ssl: unknown;
  readonly connection: { emit(event: "error", error: Error): void; readonly stream: Socket };
  _handleAuthCleartextPassword(message: unknown): void;
}

/** Sends no clear-text password over an unencrypted connection. mysql2 itself refuses to. */
function guarded(driver: object): object {
  // The module's type omits the login.
  const { Client } = driver as { readonly Client: new (...settings: unknown[]) => PasswordRequest };
  class Guarded extends Client {
    override _handleAuthCleartextPassword(message: unknown): void {
      if (this.ssl) {
        super._handleAuthCleartextPassword(message);
        return;
      }
      const error = new Error("the server requires the password in clear text");
      this.connection.emit("error", Object.assign(error, { code: "ECLEAR" }));
      this.connection.stream.destroy();
    }
  }
  return { ...driver, Client: Guarded };
}

/** knex's dialect with a timeout for every statement, inside and outside transactions. */
function limitedClient(address: DatabaseAddress, timeout: DatabaseTimeout): typeof Knex.Client {
  // knex's types omit the overridden methods.
  const Base = (
    address.engine === "mysql"
      ? require("knex/lib/dialects/mysql2/index.js")
      : require("knex/lib/dialects/postgres/index.js")
  ) as new () => Dialect;
  const clear = address.engine === "mysql" || address.tls === null || address.socket !== null;
  class Limited extends Base {
    override _driver(): unknown {
      const driver = super._driver();
      return clear || typeof driver !== "object" || driver === null ? driver : guarded(driver);
    }
    override _query(connection: unknown, statement: object): Promise<unknown> {
      const { through } = (statement as Statement).options ?? {};
      const work =
        through === undefined
          ? super._query(connection, statement)
          : through(connection).then((response) => Object.assign(statement, { response }));
      return answered(work, connection, address, timeout);
    }
  }
  return Limited as unknown as typeof Knex.Client;
}

/** SQLite statements that stay prepared: the reading of a batch repeats about five. */
const PREPARED = 8;

/** knex's better-sqlite3 dialect with libsql, whose binary is part of the npm package. */
function sqliteClient(): typeof Knex.Client {
  const Base = require("knex/lib/dialects/better-sqlite3/index.js") as typeof Knex.Client;
  return class extends Base {
    _driver(): unknown {
      return require("libsql");
    }
    override async acquireRawConnection() {
      const connection = await super.acquireRawConnection();
      const prepare: (sql: string) => unknown = connection.prepare.bind(connection);
      const prepared = new Map<string, unknown>();
      connection.prepare = (sql: string) => {
        const statement = prepared.get(sql) ?? prepare(sql);
        // The last one used is the last one in the map.
        prepared.delete(sql);
        prepared.set(sql, statement);
        const [oldest = ""] = prepared.keys();
        if (prepared.size > PREPARED) prepared.delete(oldest);
        return statement;
      };
      return connection;
    }
  };
}

export function knexConfig(address: DatabaseAddress, encrypted: boolean, timeout: DatabaseTimeout) {
  const { engine, filename, label } = address;
  if (engine !== "sqlite") {
    const connection = engine === "mysql" ? mysqlConnection : postgresConnection;
    return { client: limitedClient(address, timeout), connection: connection(address, encrypted) };
  }
  if (filename === null || !existsSync(filename))
    throw new MigrationError("N2I-E200", `${label}: there is no such file`, {
      fix: "Check the path. Nothing was created there.",
    });
  return {
    client: sqliteClient(),
    connection: { filename, options: { safeIntegers: true } as never },
    useNullAsDefault: true,
  };
}
