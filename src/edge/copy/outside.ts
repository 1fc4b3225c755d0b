import type { Knex } from "knex";
import type { Database } from "../database/open.ts";

/** What lets a session write, and takes it back: every session of this tool is read-only by itself. */
const SESSION = {
  mysql: {
    open: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , READ WRITE */",
    shut: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ /*!50605 , READ ONLY */",
  },
  postgresql: {
    open: "SET default_transaction_read_only=off",
    shut: "SET default_transaction_read_only=on",
  },
  sqlite: { open: "PRAGMA query_only=OFF", shut: "PRAGMA query_only=ON" },
} as const;

/** A statement in which a question mark stands for no value: where knex looks for them, though none was given. */
export function literal({ engine }: Database, sql: string): string {
  return engine === "postgresql" ? sql.replaceAll("?", "\\?") : sql;
}

/**
 * A connection on which each statement is a transaction of its own: a database is not made, nor dropped,
 * inside of one. No rows of a target are written by it.
 */
export async function outside<T>(
  { engine, knex, run }: Database,
  work: (on: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const on = await run("opening a connection", () => knex.transaction());
  try {
    await run("opening a connection", () => on.raw("COMMIT"));
    await run("opening a connection", () => on.raw(SESSION[engine].open));
    return await work(on);
  } finally {
    await on.raw(SESSION[engine].shut).catch(async (cause: unknown) => {
      // It could write still; the pool destroys what bears this, and lends it to nobody.
      const connection: object = await on.client.acquireConnection();
      Object.assign(connection, { __knex__disposed: cause });
    });
    // knex wants an end of what it began; nothing is open by now.
    await on.rollback().catch(() => null);
  }
}
