import { resolve } from "node:path";
import { inspect } from "node:util";
import type { DatabaseAddress, Engine } from "../../model/database.ts";
import {
  checkedHost,
  type DatabaseUrl,
  type Fault,
  parseDatabaseUrl,
  portNumber,
} from "./database-url.ts";

interface Parsed {
  /** Printed or turned into JSON, it leaves the password out. */
  readonly address: DatabaseAddress;
  /** Whether the address holds a password, in whatever place. */
  readonly secret: boolean;
}

type Parts = Omit<DatabaseAddress, "password">;

const ENGINES: ReadonlyMap<string, Engine> = new Map([
  ["mysql", "mysql"],
  ["mariadb", "mysql"],
  ["postgresql", "postgresql"],
  ["postgres", "postgresql"],
  ["sqlite", "sqlite"],
]);

/** @throws what `fault` makes; no message holds a part of the address that could be a secret */
export function toAddress(text: string, fault: Fault): Parsed {
  const url = parseDatabaseUrl(text, fault);
  const engine = ENGINES.get(url.dialect);
  if (engine === undefined)
    throw fault(`${url.dialect}:// is neither MySQL, PostgreSQL nor SQLite`);
  if (engine === "sqlite") return { address: guarded(file(url, fault), null), secret: false };
  const { query } = url;
  const password = url.password ?? query.get("password") ?? query.get("passwd") ?? null;
  const hidden = [...query].some(([name, value]) => /pass|pwd/i.test(name) && value !== "");
  return {
    address: guarded(server(engine, url, fault), password),
    secret: (password !== null && password !== "") || hidden,
  };
}

function file({ database }: DatabaseUrl, fault: Fault): Parts {
  if (database === null || database === "" || database === ":memory:")
    throw fault("a SQLite database in memory has nothing to carry over");
  if (database.startsWith("file:")) throw fault("a SQLite address wants a path, not file:");
  const filename = resolve(database);
  return {
    engine: "sqlite",
    host: null,
    port: null,
    socket: null,
    user: null,
    database: "main",
    filename,
    tls: null,
    shown: `sqlite:///${filename}`,
  };
}

function server(engine: "mysql" | "postgresql", url: DatabaseUrl, fault: Fault): Parts {
  const { query } = url;
  if (url.database === null || url.database === "") throw fault("the address names no database");
  const elsewhere = query.get("host") || null;
  const socket =
    query.get("unix_socket") || (elsewhere?.startsWith("/") === true ? elsewhere : null);
  const host =
    socket !== null
      ? null
      : elsewhere !== null
        ? checkedHost(elsewhere, fault)
        : (url.host ?? "localhost");
  const usual = engine === "mysql" ? 3306 : 5432;
  const port = portNumber(query.get("port"), fault) ?? url.port ?? usual;
  const user = url.user || query.get("user") || null;
  const parts = {
    engine,
    host,
    // On PostgreSQL the port is part of a socket's name.
    port: engine === "mysql" && socket !== null ? null : port,
    socket,
    user,
    database: url.database,
    filename: null,
    tls: engine === "mysql" ? mysqlTls(query, fault) : postgresqlTls(query, fault),
  };
  return { ...parts, shown: shown(parts, usual) };
}

function shown(parts: Omit<Parts, "shown">, usual: number): string {
  const { engine, host, port, socket, user, database } = parts;
  const at = user === null ? "" : `${encodeURIComponent(user)}@`;
  const name = host?.includes(":") === true ? `[${host}]` : (host ?? "");
  const colon = port === null || port === usual ? "" : `:${port}`;
  const option = engine === "mysql" ? "unix_socket" : "host";
  const query = socket === null ? "" : `?${option}=${encodeURI(socket)}`;
  return `${engine}://${at}${name}${colon}/${encodeURIComponent(database)}${query}`;
}

/** The password lives in a closure, and what prints an object is given one without it. */
function guarded(parts: Parts, password: string | null): DatabaseAddress {
  const open = (): Parts => parts;
  const hide = { value: open, enumerable: false };
  return Object.defineProperties(
    { ...parts, password: () => password },
    { toJSON: hide, [inspect.custom]: hide },
  );
}

type Query = ReadonlyMap<string, string>;
type Tls = DatabaseAddress["tls"];

const MYSQL_MODES = new Map([
  ["DISABLED", "disable"],
  ["PREFERRED", "prefer"],
  ["REQUIRED", "require"],
  ["VERIFY_CA", "verify-ca"],
  ["VERIFY_IDENTITY", "verify-full"],
]);

const POSTGRESQL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/**
 * What the options of a MySQL address ask of TLS, in libpq's words; null for a plain connection, which
 * somebody must ask for: passwords of BMCs go over it.
 * A CA is there to be checked, and the host's name with it, unless the options say otherwise.
 *
 * @throws what `fault` makes for a value that is none of the option's
 * @source sqlalchemy/dialects/mysql/mysqldb.py create_connect_args; pymysql/connections.py; mysql(1) --ssl-mode
 */
function mysqlTls(query: Query, fault: Fault): Tls {
  const files = paths(query, "ssl_ca", "ssl_cert", "ssl_key");
  const ssl = query.get("ssl_mode")?.toUpperCase();
  const named = ssl === undefined ? undefined : MYSQL_MODES.get(ssl);
  if (ssl !== undefined && named === undefined) throw fault("ssl_mode is none that MySQL has");
  if (named !== undefined) return named === "disable" ? null : { mode: named, ...files };
  const verify = truth(query, "ssl_verify_cert", fault) ?? (files.ca === null ? null : true);
  if (verify === true) {
    const names =
      truth(query, "ssl_check_hostname", fault) ?? truth(query, "ssl_verify_identity", fault);
    return { mode: names === false ? "verify-ca" : "verify-full", ...files };
  }
  const asked = verify === false || files.cert !== null || files.key !== null;
  if (asked || isTrue(query.get("ssl"))) return { mode: "require", ...files };
  return truth(query, "ssl", fault) === false ? null : { mode: "prefer", ...files };
}

/**
 * As `mysqlTls`. A CA that is named is checked, but where the mode leaves TLS to the server.
 *
 * @source libpq, "SSL Support", table "SSL Mode Descriptions"
 */
function postgresqlTls(query: Query, fault: Fault): Tls {
  const files = paths(query, "sslrootcert", "sslcert", "sslkey");
  const mode = query.get("sslmode");
  if (mode !== undefined && !POSTGRESQL_MODES.includes(mode))
    throw fault("sslmode is none that PostgreSQL has");
  if (mode === "disable") return null;
  if (files.ca !== null && (mode === undefined || mode === "require"))
    return { mode: "verify-ca", ...files };
  if (mode !== undefined) return { mode, ...files };
  return { mode: files.cert === null && files.key === null ? "prefer" : "require", ...files };
}

function paths(query: Query, ca: string, cert: string, key: string) {
  return {
    ca: query.get(ca) || null,
    cert: query.get(cert) || null,
    key: query.get(key) || null,
  };
}

function truth(query: Query, name: string, fault: Fault): boolean | null {
  const value = query.get(name);
  if (value === undefined) return null;
  if (isTrue(value)) return true;
  if (/^(0|f|false|no|n|off)$/i.test(value)) return false;
  throw fault(`${name} is neither true nor false`);
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && /^(1|t|true|yes|y|on)$/i.test(value);
}
