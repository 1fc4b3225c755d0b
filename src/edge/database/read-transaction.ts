import type { Knex } from "knex";
import type { Database } from "./open.ts";

/**
 * A transaction that sees one moment of the database and writes nothing.
 *
 * On MySQL the read-only session of `openDatabase` sees to the latter: knex writes `SET TRANSACTION
 * ISOLATION LEVEL .. READ ONLY` without the comma that MySQL wants there. SQLite knows neither word.
 *
 * @throws MigrationError
 */
export function readTransaction({ engine, knex, run }: Database): Promise<Knex.Transaction> {
  const config: Knex.TransactionConfig = {
    ...(engine !== "sqlite" && { isolationLevel: "repeatable read" }),
    ...(engine === "postgresql" && { readOnly: true }),
  };
  return run("opening a transaction", () => knex.transaction(undefined, config));
}
