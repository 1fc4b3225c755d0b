import type { ServerIdentity } from "./artefact.ts";
import type { Texts } from "./rows.ts";

export type Engine = "mysql" | "postgresql" | "sqlite";

/** The password is a function, so that it is never printed. */
export interface DatabaseAddress extends Texts<"host" | "socket" | "user"> {
  readonly engine: Engine;
  readonly port: number | null;
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
  readonly label: string;
}

export type DatabaseLocation = Pick<ServerIdentity, "address" | "database" | "server">;

const FIELDS = ["engine", "address", "database", "server"] as const;

type IdentityNames = { readonly [field in (typeof FIELDS)[number]]?: string };

/** Server ids that are globally unique: of a cluster, or of a data folder. */
const UNIQUE = /^(wsrep cluster|server_uuid|system) \S/;

/** Without the address if the server has a unique id, because a cluster has several addresses. */
export function otherServer(
  planned: IdentityNames,
  found: IdentityNames,
): readonly (typeof FIELDS)[number][] {
  const certain = UNIQUE.test(found.server ?? "") && found.server === planned.server;
  const changed = FIELDS.filter((field) => planned[field] !== found[field]);
  return certain ? changed.filter((field) => field !== "address") : changed;
}

/** True if in doubt, because a server without a unique id may have two addresses. */
export function mayBeSame(one: IdentityNames, other: IdentityNames): boolean {
  if (one.engine !== other.engine) return false;
  const isSameServer = one.server === other.server;
  // The server id contains the database oid on PostgreSQL, and is the inode on SQLite.
  if (isSameServer && one.engine !== "mysql") return true;
  // MySQL may store names in lower case.
  const isSameName = one.database?.toLowerCase() === other.database?.toLowerCase();
  return isSameName && (isSameServer || one.address === other.address);
}

/** `schema_version was 9, is 10`. */
export function differences<K extends string>(
  planned: IdentityNames & { readonly [field in K]?: string | number },
  found: IdentityNames & { readonly [field in K]?: string | number },
  fields: readonly K[],
): readonly string[] {
  const changed = fields.filter((field) => planned[field] !== found[field]);
  return [...otherServer(planned, found), ...changed].map(
    (field) => `${field} was ${planned[field] ?? "none"}, is ${found[field] ?? "none"}`,
  );
}

/** LOCK is the privilege for SELECT ... FOR UPDATE. */
export type Verb = "SELECT" | "LOCK" | "INSERT" | "UPDATE" | "DELETE";

export type Privileges = ReadonlyMap<string, ReadonlySet<Verb>>;

export interface Ungranted {
  /** `INSERT nodes`. */
  readonly statements: readonly string[];
  /** Statements for the database administrator. */
  readonly grants: readonly string[];
  /** Missing tables, which no grant fixes. */
  readonly missing: readonly string[];
}
