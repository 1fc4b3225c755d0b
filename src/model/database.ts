export type Engine = "mysql" | "postgresql" | "sqlite";

/** Where a database is and how to log in. The password is behind a function so that it cannot print. */
export interface DatabaseAddress {
  readonly engine: Engine;
  readonly host: string | null;
  readonly port: number | null;
  readonly socket: string | null;
  readonly user: string | null;
  readonly database: string;
  /** SQLite only: absolute path. */
  readonly filename: string | null;
  readonly password: () => string | null;
  readonly tls: {
    readonly mode: string;
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
  } | null;
  /** The address for people, without the password. */
  readonly shown: string;
}

/** Where a database is, and whose. */
export interface DatabasePlace {
  readonly address: string;
  readonly database: string;
  readonly server: string;
}

/** What tells one database from another, as far as an artefact holds it. */
interface Named {
  readonly engine?: string;
  readonly address?: string;
  readonly database?: string;
  readonly server?: string;
}

const FIELDS = ["engine", "address", "database", "server"] as const;

/** Names that no second server has by chance: of a cluster, of a data folder. */
const UNIQUE = /^(wsrep cluster|server_uuid|system) \S/;

/**
 * Fields by which two databases are not the same. Where the server has a name of its own the address
 * says nothing: a cluster goes on through another node when one dies, and a service moves.
 */
export function otherServer(planned: Named, found: Named): readonly (typeof FIELDS)[number][] {
  const certain = UNIQUE.test(found.server ?? "") && found.server === planned.server;
  const changed = FIELDS.filter((field) => planned[field] !== found[field]);
  return certain ? changed.filter((field) => field !== "address") : changed;
}

/**
 * Whether two descriptions may be of one database, under another name or address. In doubt they are: a server without a
 * name of its own may be one server under two addresses.
 */
export function mayBeSame(one: Named, other: Named): boolean {
  if (one.engine !== other.engine) return false;
  const isSameServer = one.server === other.server;
  // The server's name contains the database's oid on PostgreSQL, and is the file's inode on SQLite.
  if (isSameServer && one.engine !== "mysql") return true;
  // MySQL may store names in lower case.
  const isSameName = one.database?.toLowerCase() === other.database?.toLowerCase();
  return isSameName && (isSameServer || one.address === other.address);
}

/** In what two databases, or what is known of them, are not the same: `schema_version was 9, is 10`. */
export function differences<K extends string>(
  planned: Named & { readonly [field in K]?: string | number },
  found: Named & { readonly [field in K]?: string | number },
  fields: readonly K[],
): readonly string[] {
  const changed = fields.filter((field) => planned[field] !== found[field]);
  return [...otherServer(planned, found), ...changed].map(
    (field) => `${field} was ${planned[field] ?? "none"}, is ${found[field] ?? "none"}`,
  );
}

/** What a statement does to a table; LOCK is what SELECT ... FOR UPDATE wants of its user. */
export type Verb = "SELECT" | "LOCK" | "INSERT" | "UPDATE" | "DELETE";

/** Verbs by table. */
export type Privileges = ReadonlyMap<string, ReadonlySet<Verb>>;

/** What a user may not do of what is wanted. */
export interface Lacking {
  /** `INSERT nodes`. */
  readonly statements: readonly string[];
  /** What an administrator of the database says to change that. */
  readonly grants: readonly string[];
  /** Tables that are not there at all: no grant fixes that. */
  readonly missing: readonly string[];
}
