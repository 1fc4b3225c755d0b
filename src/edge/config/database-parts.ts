import { resolve } from "node:path";
import { inspect } from "node:util";
import type { DatabaseAddress, Engine } from "../../model/database.ts";
import { mysqlTls, postgresqlTls } from "./database-tls.ts";
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
