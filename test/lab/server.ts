import { randomBytes } from "node:crypto";
import { SERVERS, type ServerEngine } from "./binaries.ts";
import { connect } from "./connect.ts";

/** How to reach a server, with its superuser. */
export interface Coordinates {
  readonly engine: ServerEngine;
  readonly host: string;
  readonly port: number;
  /** Path of the socket; on PostgreSQL of the folder it is in. */
  readonly socket: string;
  readonly user: string;
  readonly password: string;
}

export interface Account {
  readonly user: string;
  readonly password: string;
  /** `mysql://user:password@127.0.0.1:port/database` */
  readonly url: string;
}

/** Works a server that runs at these coordinates. */
export function serverAt(at: Coordinates, stop: () => Promise<void>) {
  const urlFor = (user: string, password: string, database: string): string =>
    `${at.engine}://${user}:${password}@${at.host}:${at.port}/${database}`;
  const mysql = at.engine === "mysql";
  return {
    ...at,
    stop,
    url: (database: string) => urlFor(at.user, at.password, database),
    /** @param charset on PostgreSQL too; `latin1` is the other that both know */
    newDatabase: (name: string, charset = "utf8mb4") =>
      run(at, null, [
        mysql
          ? `CREATE DATABASE ${word(name)} CHARACTER SET ${word(charset)}`
          : `CREATE DATABASE ${word(name)} TEMPLATE template0 LOCALE 'C' ENCODING '${encoding(charset)}'`,
      ]),
    hasDatabase: async (name: string) => {
      const db = connect({ ...at, database: SERVERS[at.engine].home });
      const query = mysql
        ? db("information_schema.schemata").where({ schema_name: name })
        : db("pg_database").where({ datname: name });
      return await query
        .then((rows: readonly object[]) => rows.length > 0)
        .finally(() => db.destroy());
    },
    dropDatabase: (name: string) =>
      run(
        at,
        null,
        mysql
          ? ["SET SESSION lock_wait_timeout = 10", `DROP DATABASE IF EXISTS ${word(name)}`]
          : [`DROP DATABASE IF EXISTS ${word(name)} WITH (FORCE)`],
      ),
    /** A new user with these privileges on the tables of one database, `SELECT, INSERT`, and no other right. */
    restrictedUser: async (name: string, database: string, privileges: string) => {
      const user = `${word(name)}_${newPassword().slice(0, 8)}`;
      const password = newPassword();
      const grant = mysql ? mysqlGrants : postgresGrants;
      await run(at, database, grant(user, password, word(database), privileges));
      return { user, password, url: urlFor(user, password, database) };
    },
  };
}

export type Server = ReturnType<typeof serverAt>;

/** Hexadecimal, so that it needs no quoting anywhere. */
export function newPassword(): string {
  return randomBytes(16).toString("hex");
}

function mysqlGrants(user: string, password: string, database: string, privileges: string) {
  return [
    `CREATE USER '${user}'@'127.0.0.1' IDENTIFIED BY '${password}'`,
    `GRANT ${privileges} ON ${database}.* TO '${user}'@'127.0.0.1'`,
  ];
}

function postgresGrants(user: string, password: string, database: string, privileges: string) {
  return [
    `CREATE ROLE ${user} LOGIN PASSWORD '${password}'`,
    `GRANT CONNECT ON DATABASE ${database} TO ${user}`,
    `GRANT USAGE ON SCHEMA public TO ${user}`,
    `GRANT ${privileges} ON ALL TABLES IN SCHEMA public TO ${user}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ${privileges} ON TABLES TO ${user}`,
    ...(/insert/i.test(privileges)
      ? [`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${user}`]
      : []),
  ];
}

async function run(at: Coordinates, database: string | null, statements: readonly string[]) {
  const db = connect({ ...at, database: database ?? SERVERS[at.engine].home });
  try {
    for (const statement of statements) await db.raw(statement);
  } finally {
    await db.destroy();
  }
}

function encoding(charset: string): string {
  return charset.startsWith("utf8") ? "UTF8" : word(charset);
}

/** Names go into statements as they are: only plain ones. */
function word(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new Error(`not a plain name: ${name}`);
  return name;
}
