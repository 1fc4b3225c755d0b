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
