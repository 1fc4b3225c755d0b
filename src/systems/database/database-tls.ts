import type { MigrationError } from "../../lib/error.ts";
import type { DatabaseAddress } from "../../model/database.ts";

/** Creates the error, which names the option or file of the address. */
export type Fault = (what: string) => MigrationError;

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
 * Null only if the address disables TLS, because BMC passwords cross the connection. A CA implies
 * verification of certificate and host name unless options disable it.
 *
 * @throws the error of `fault` for an invalid option value
 * @source sqlalchemy/dialects/mysql/mysqldb.py create_connect_args; pymysql/connections.py; mysql(1) --ssl-mode
 */
export function mysqlTls(query: Query, fault: Fault): Tls {
  const files = paths(query, "ssl_ca", "ssl_cert", "ssl_key");
  const ssl = query.get("ssl_mode")?.toUpperCase();
  const tlsMode = ssl === undefined ? undefined : MYSQL_MODES.get(ssl);
  if (ssl !== undefined && tlsMode === undefined) throw fault("ssl_mode is not a mode of MySQL");
  if (tlsMode !== undefined) return tlsMode === "disable" ? null : { mode: tlsMode, ...files };
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
export function postgresqlTls(query: Query, fault: Fault): Tls {
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
