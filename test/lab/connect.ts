import { createRequire } from "node:module";
import type { Knex } from "knex";
import knex from "knex";
import type { ServerEngine } from "./binaries.ts";

const require = createRequire(import.meta.url);

/** Where a test database is, as drivers want it. `database` is a path on SQLite. */
export type Place = { readonly engine: "sqlite"; readonly database: string } | OnServer;

interface OnServer {
  readonly engine: ServerEngine;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/**
 * A connection of the tests' own, to build and look at databases without the tool's help.
 * Knex's own warnings are left out: what fails is thrown. The caller destroys it.
 */
export function connect(place: Place): Knex {
  const log = { warn: () => {} };
  switch (place.engine) {
    case "mysql":
      return knex({
        log,
        client: "mysql2",
        connection: { ...server(place), charset: "utf8mb4", dateStrings: true, timezone: "Z" },
        pool: { min: 0, max: 4 },
      });
    case "postgresql":
      return knex({ log, client: "pg", connection: server(place), pool: { min: 0, max: 4 } });
    case "sqlite":
      return knex({
        log,
        client: libsqlClient(),
        connection: { filename: place.database },
        useNullAsDefault: true,
        pool: { afterCreate: unsynced },
      });
  }
}

/** The rows of a statement: knex gives them first on MySQL and as `rows` on PostgreSQL. */
export async function rowsOf<Row>(
  db: Knex,
  sql: string,
  values: readonly string[] = [],
): Promise<readonly Row[]> {
  const answer = await db.raw(sql, values);
  return Array.isArray(answer) ? answer[0] : answer.rows;
}

function server({ host, port, user, password, database }: OnServer) {
  return { host, port, user, password, database };
}

function unsynced(
  connection: { readonly exec: (sql: string) => void },
  done: (error: Error | null, connection: unknown) => void,
): void {
  connection.exec("PRAGMA synchronous=OFF");
  done(null, connection);
}

/** Knex's better-sqlite3 dialect over libsql, whose binding needs no compiler. */
function libsqlClient(): typeof Knex.Client {
  // Knex has no types for its dialects' files.
  const Dialect = require("knex/lib/dialects/better-sqlite3") as typeof Knex.Client;
  return class extends Dialect {
    override readonly driverName = "libsql";
    _driver(): unknown {
      return require("libsql");
    }
  };
}
