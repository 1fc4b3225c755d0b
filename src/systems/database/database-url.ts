import { resolve } from "node:path";
import { inspect } from "node:util";
import type { MigrationError } from "../../lib/error.ts";
import type { DatabaseAddress, Engine } from "../../model/database.ts";

type Parts = Omit<DatabaseAddress, "password">;

const ENGINES: ReadonlyMap<string, Engine> = new Map([
  ["mysql", "mysql"],
  ["mariadb", "mysql"],
  ["postgresql", "postgresql"],
  ["postgres", "postgresql"],
  ["sqlite", "sqlite"],
]);

/** In characters. Limits the quadratic search for the separating `@`. */
const LENGTH = 4096;

/**
 * The address omits the password when printed or converted to JSON.
 *
 * @throws the error of `fault`, which contains at most the scheme of the address
 */
export function toAddress(url: string, fault: Fault) {
  if (url.length > LENGTH) throw fault(`the address is longer than ${LENGTH} characters`);
  if (/[\p{Cc}\p{Surrogate}]/u.test(url))
    throw fault("the address contains a line break or another control character");
  const [, scheme, rest] = /^([A-Za-z]\w*)(?:\+\w+)?:\/\/(.*)$/s.exec(url) ?? [];
  if (scheme === undefined || rest === undefined) throw fault("the address has no scheme");
  const dialect = scheme.toLowerCase();
  const engine = ENGINES.get(dialect);
  if (engine === undefined) throw fault(`${dialect}:// is neither MySQL, PostgreSQL nor SQLite`);
  return engine === "sqlite"
    ? { address: guarded(file(rest, fault), null), secret: false }
    : server(engine, rest, fault);
}

/** A path may contain any character except a question mark, so it has no user or host. */
function file(rest: string, fault: Fault): Parts {
  if (rest !== "" && !rest.startsWith("/"))
    throw fault("a SQLite address has no host: write sqlite:////absolute/path");
  const path = rest.replace(/\?.*/s, "").slice(1);
  if (path === "" || path === ":memory:")
    throw fault("a SQLite database in memory has nothing to migrate");
  if (path.startsWith("file:")) throw fault("a SQLite address requires a path, not file:");
  const filename = resolve(path);
  return {
    ...{ engine: "sqlite", host: null, port: null, socket: null, user: null, database: "main" },
    ...{ filename, tls: null, label: `sqlite:///${filename}` },
  };
}

/**
 * As lenient as SQLAlchemy: a password may contain unescaped `@`, `/`, `?`, `#` and `:` if there is
 * only one way to parse the address. User and password are percent-decoded, the database is not.
 * The last of repeated options applies.
 *
 * @source sqlalchemy/engine/url.py
 */
function server(engine: "mysql" | "postgresql", rest: string, fault: Fault) {
  const { login, endpoint } = apart(rest, fault);
  const [, ipv6, name, portText, database, text = ""] = endpoint;
  const query = options(text, fault);
  const [, userText = "", clear] = /^([^:]*)(?::(.*))?$/s.exec(login ?? "") ?? [];
  const decodedUser = decoded(userText, "the user", fault);
  const passwordInUrl = clear === undefined ? undefined : decoded(clear, "the password", fault);
  const password = passwordInUrl ?? query.get("password") ?? query.get("passwd") ?? null;
  if (ipv6 !== undefined && !/^[0-9a-f:.]+(%[\w.-]+)?$/i.test(ipv6))
    throw fault("the text in [] is not an IPv6 address");
  const hostInUrl = ipv6 ?? (name ? checkedHost(name, fault) : "localhost");
  const urlPort = portNumber(portText, fault);
  if (!database) throw fault("the address has no database name");
  const elsewhere = query.get("host") || null;
  const socket =
    query.get("unix_socket") || (elsewhere?.startsWith("/") === true ? elsewhere : null);
  const host = socket === null && elsewhere !== null ? checkedHost(elsewhere, fault) : hostInUrl;
  const usual = engine === "mysql" ? 3306 : 5432;
  const port = portNumber(query.get("port"), fault) ?? urlPort ?? usual;
  const parts = {
    engine,
    host: socket === null ? host : null,
    // PostgreSQL's socket name includes the port.
    port: engine === "mysql" && socket !== null ? null : port,
    ...{ socket, user: decodedUser || query.get("user") || null, database, filename: null },
    tls: engine === "mysql" ? mysqlTls(query, fault) : postgresqlTls(query, fault),
  };
  const hidden = [...query].some(([name, value]) => /pass|pwd/i.test(name) && value !== "");
  return {
    address: guarded({ ...parts, label: labelOf(parts, usual) }, password),
    secret: Boolean(password) || hidden,
  };
}

function labelOf(parts: Omit<Parts, "label">, usual: number): string {
  const { engine, host, port, socket, user, database } = parts;
  const at = user === null ? "" : `${encodeURIComponent(user)}@`;
  const name = host?.includes(":") === true ? `[${host}]` : (host ?? "");
  const colon = port === null || port === usual ? "" : `:${port}`;
  const option = engine === "mysql" ? "unix_socket" : "host";
  const query = socket === null ? "" : `?${option}=${encodeURI(socket)}`;
  return `${engine}://${at}${name}${colon}/${encodeURIComponent(database)}${query}`;
}

/** A closure holds the password, and inspect and JSON omit it. */
function guarded(parts: Parts, password: string | null): DatabaseAddress {
  const hide = { value: (): Parts => parts, enumerable: false };
  return Object.defineProperties(
    { ...parts, password: () => password },
    { toJSON: hide, [inspect.custom]: hide },
  );
}

/** IPv6 host, host, port, database, query. An `@` is possible only in a query option. */
const LOCATION =
  /^(?:\[([^\]/?@]*)\]|([^/:?@[\]]*))(?::([^/?@]*))?(?:\/([^?@]*))?(?:\?(|[\w.-]+(?:=.*)?))?$/s;

interface Apart {
  /** The text before the `@`. */
  readonly login: string | null;
  readonly endpoint: RegExpExecArray;
}

/**
 * Refuses two possible splits, because the wrong one would print a part of the password as the
 * database name.
 */
function apart(rest: string, fault: Fault): Apart {
  const readings: Apart[] = [];
  const withoutLogin = LOCATION.exec(rest);
  // A malformed port before an `@` is a password.
  if (withoutLogin !== null && (!rest.includes("@") || /^\d*$/.test(withoutLogin[3] ?? "")))
    readings.push({ login: null, endpoint: withoutLogin });
  for (let at = rest.indexOf("@"); at >= 0; at = rest.indexOf("@", at + 1)) {
    const endpoint = LOCATION.exec(rest.slice(at + 1));
    const login = rest.slice(0, at);
    if (endpoint !== null && endpoint[4] !== undefined && !/^[^:]*[/?]/.test(login))
      readings.push({ login, endpoint });
  }
  const [only, second] = readings;
  if (only === undefined) throw fault("the address cannot be parsed, or has no database name");
  if (second !== undefined)
    throw fault("the address is ambiguous: write %40 for an @ that is not a separator");
  return only;
}

function checkedHost(host: string, fault: Fault): string {
  if (host.includes(",")) throw fault("the address has several hosts: keep one");
  if (!/^[\p{L}\p{N}._-]+$|^[0-9a-f:]*:[0-9a-f:.]*$/iu.test(host))
    throw fault("the host name contains an invalid character");
  return host;
}

function portNumber(text: string | undefined, fault: Fault): number | null {
  if (text === undefined || text === "") return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw fault("the port is not a number from 1 to 65535");
  return port;
}

function options(query: string, fault: Fault): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const pair of query.split("&").filter((part) => part !== "")) {
    const [name = "", ...value] = pair.replaceAll("+", " ").split("=");
    const part = "an option of the address";
    found.set(decoded(name, part, fault), decoded(value.join("="), part, fault));
  }
  return found;
}

/** An invalid `%` escape is kept, as in Python's unquote. */
function decoded(text: string, part: string, fault: Fault): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      // The cause could contain the password.
      throw fault(`${part} has percent escapes that are not UTF-8`);
    }
  });
}

/** Creates the error, which names the option or file of the address. */
export type Fault = (what: string) => MigrationError;

type Query = ReadonlyMap<string, string>;

type Tls = DatabaseAddress["tls"];

const MYSQL_MODES: { readonly [mode: string]: string } = {
  ...{ DISABLED: "disable", PREFERRED: "prefer", REQUIRED: "require" },
  ...{ VERIFY_CA: "verify-ca", VERIFY_IDENTITY: "verify-full" },
};

const POSTGRESQL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/**
 * Null only if the address disables TLS, because BMC passwords cross the connection. A CA implies
 * verification of certificate and host name unless options disable it.
 *
 * @throws the error of `fault` for an invalid option value
 * @source sqlalchemy/dialects/mysql/mysqldb.py create_connect_args; pymysql/connections.py; mysql(1) --ssl-mode
 */
function mysqlTls(query: Query, fault: Fault): Tls {
  const files = paths(query, "ssl_ca", "ssl_cert", "ssl_key");
  const ssl = query.get("ssl_mode")?.toUpperCase();
  if (ssl !== undefined) {
    const mode = Object.hasOwn(MYSQL_MODES, ssl) ? MYSQL_MODES[ssl] : undefined;
    if (mode === undefined) throw fault("ssl_mode is not a mode of MySQL");
    return mode === "disable" ? null : { mode, ...files };
  }
  const verify = truth(query, "ssl_verify_cert", fault) ?? (files.ca === null ? null : true);
  if (verify === true) {
    const names =
      truth(query, "ssl_check_hostname", fault) ?? truth(query, "ssl_verify_identity", fault);
    return { mode: names === false ? "verify-ca" : "verify-full", ...files };
  }
  const isRequested = verify === false || files.cert !== null || files.key !== null;
  if (isRequested || isTrue(query.get("ssl"))) return { mode: "require", ...files };
  return truth(query, "ssl", fault) === false ? null : { mode: "prefer", ...files };
}

/**
 * A CA is verified, except with the modes `allow` and `prefer`.
 *
 * @source libpq, "SSL Support", table "SSL Mode Descriptions"
 */
function postgresqlTls(query: Query, fault: Fault): Tls {
  const files = paths(query, "sslrootcert", "sslcert", "sslkey");
  const mode = query.get("sslmode");
  if (mode !== undefined && !POSTGRESQL_MODES.includes(mode))
    throw fault("sslmode is not a mode of PostgreSQL");
  if (mode === "disable") return null;
  if (files.ca !== null && (mode === undefined || mode === "require"))
    return { mode: "verify-ca", ...files };
  if (mode !== undefined) return { mode, ...files };
  return { mode: files.cert === null && files.key === null ? "prefer" : "require", ...files };
}

function paths(query: Query, ca: string, cert: string, key: string) {
  return { ca: query.get(ca) || null, cert: query.get(cert) || null, key: query.get(key) || null };
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
