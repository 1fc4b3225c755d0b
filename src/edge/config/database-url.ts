import type { MigrationError } from "../../model/error.ts";

/** Makes the error for a fault of an address; it knows which option and file the address is from. */
export type Fault = (what: string) => MigrationError;

/** The parts of an address as SQLAlchemy names a database. */
export interface DatabaseUrl {
  /** In lower case, without the driver: `mysql` of `mysql+pymysql`. */
  readonly dialect: string;
  /** Percent-decoded; null when none is given. */
  readonly user: string | null;
  /** Percent-decoded; null when none is given. A secret. */
  readonly password: string | null;
  readonly host: string | null;
  readonly port: number | null;
  /** What follows the slash, not decoded, as in SQLAlchemy; null when there is no slash. */
  readonly database: string | null;
  /** Options of the driver; of a repeated one the last. */
  readonly query: ReadonlyMap<string, string>;
}

/** Characters; the search for the right `@` is quadratic. */
const LENGTH = 4096;

/** IPv6 host, host, port, database, query; an `@` is possible only in an option of the query. */
const PLACE =
  /^(?:\[([^\]/?@]*)\]|([^/:?@[\]]*))(?::([^/?@]*))?(?:\/([^?@]*))?(?:\?(|[\w.-]+(?:=.*)?))?$/s;

/**
 * Takes an address apart, as lax as SQLAlchemy: a password may hold `@`, `/`, `?`, `#` and `:`
 * unescaped, as long as there is one way to read it.
 *
 * @throws what `fault` makes; no message holds any part of the address but its scheme
 * @source sqlalchemy/engine/url.py
 */
export function parseDatabaseUrl(url: string, fault: Fault): DatabaseUrl {
  if (url.length > LENGTH) throw fault(`the address is longer than ${LENGTH} characters`);
  if (/[\p{Cc}\p{Surrogate}]/u.test(url))
    throw fault("the address holds a line break or another control character");
  const [, scheme, rest] = /^([A-Za-z]\w*)(?:\+\w+)?:\/\/(.*)$/s.exec(url) ?? [];
  if (scheme === undefined || rest === undefined) throw fault("the address has no scheme");
  const dialect = scheme.toLowerCase();
  if (dialect === "sqlite") return fileUrl(rest, fault);
  const { login, place } = apart(rest, fault);
  const [, ipv6, name, port, database, query] = place;
  const colon = login?.indexOf(":") ?? -1;
  const user = colon < 0 ? login : (login?.slice(0, colon) ?? null);
  const password = colon < 0 ? null : (login?.slice(colon + 1) ?? null);
  return {
    dialect,
    user: user === null ? null : decoded(user, "the user", fault),
    password: password === null ? null : decoded(password, "the password", fault),
    host: hostName(ipv6, name, fault),
    port: portNumber(port, fault),
    database: database ?? null,
    query: options(query ?? "", fault),
  };
}

/** A path may hold anything but a question mark, so nothing in it is a user or a host. */
function fileUrl(rest: string, fault: Fault): DatabaseUrl {
  if (rest !== "" && !rest.startsWith("/"))
    throw fault("a SQLite address has no host: write sqlite:////absolute/path");
  const [path = ""] = rest.split("?");
  const none = { user: null, password: null, host: null, port: null };
  return { dialect: "sqlite", ...none, database: path.slice(1), query: new Map() };
}

interface Apart {
  /** What stands before the `@`. */
  readonly login: string | null;
  readonly place: RegExpExecArray;
}

/**
 * Divides at the one `@` after which a place can stand, or at none. Two readings are refused: the
 * wrong one would take a piece of the password for a database's name, and show it.
 */
function apart(rest: string, fault: Fault): Apart {
  const readings: Apart[] = [];
  const whole = PLACE.exec(rest);
  // What looks like a port but is none is a password before an `@`.
  if (whole !== null && (!rest.includes("@") || /^\d*$/.test(whole[3] ?? "")))
    readings.push({ login: null, place: whole });
  for (let at = rest.indexOf("@"); at >= 0; at = rest.indexOf("@", at + 1)) {
    const place = PLACE.exec(rest.slice(at + 1));
    const login = rest.slice(0, at);
    if (place !== null && place[4] !== undefined && !/^[^:]*[/?]/.test(login))
      readings.push({ login, place });
  }
  const [only, second] = readings;
  if (only === undefined) throw fault("the address cannot be taken apart, or names no database");
  if (second !== undefined)
    throw fault("the address can be read in two ways; write %40 for an @ that does not divide it");
  return only;
}

function hostName(ipv6: string | undefined, name: string | undefined, fault: Fault): string | null {
  if (ipv6 !== undefined && !/^[0-9a-f:.]+(%[\w.-]+)?$/i.test(ipv6))
    throw fault("what stands in [] is not an IPv6 address");
  if (ipv6 !== undefined) return ipv6;
  return name === undefined || name === "" ? null : checkedHost(name, fault);
}

/** @throws what `fault` makes when `host` can be no host's name */
export function checkedHost(host: string, fault: Fault): string {
  if (host.includes(",")) throw fault("several hosts are named; name one");
  if (!/^[\p{L}\p{N}._-]+$|^[0-9a-f:]*:[0-9a-f:.]*$/iu.test(host))
    throw fault("the host's name holds a character that no host's name has");
  return host;
}

/** @throws what `fault` makes when `text` is not a port; null when it is empty */
export function portNumber(text: string | undefined, fault: Fault): number | null {
  if (text === undefined || text === "") return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw fault("the port is not a number from 1 to 65535");
  return port;
}

function options(query: string, fault: Fault): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const pair of query.split("&").filter((part) => part !== "")) {
    const [name = "", ...value] = pair.replaceAll("+", " ").split("=");
    const what = "an option of the address";
    found.set(decoded(name, what, fault), decoded(value.join("="), what, fault));
  }
  return found;
}

/** A `%` that begins no escape stays, as in Python's unquote. */
function decoded(text: string, what: string, fault: Fault): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      // Never the cause: it could quote the password.
      throw fault(`${what} has percent escapes that are not UTF-8`);
    }
  });
}
