import type { Knex } from "knex";
import { tableNames } from "./identity.ts";
import type { Database } from "./open.ts";
import { integer, select, text } from "./rows.ts";

/** How far a database's own migrations got. */
interface SchemaVersion {
  /** Of sqlalchemy-migrate; null where there is none, or none any more. */
  readonly version: number | null;
  /** Of alembic, which took over from it later. */
  readonly head: string | null;
}

/**
 * Reads what the migrations left of themselves.
 *
 * @param repository `nova`, `nova_api`: whose row of migrate_version it is
 * @param on a transaction, to read it beside the rows it is about
 */
export async function schemaVersion(
  database: Database,
  repository: string,
  on: Knex = database.knex,
): Promise<SchemaVersion> {
  const tables = await tableNames({ ...database, knex: on });
  const ask = (table: string, sql: string, values: readonly string[] = []) =>
    tables.has(table)
      ? database.run(`reading ${table}`, () => select(database, on, sql, values))
      : Promise.resolve([]);
  const [row] = await ask(
    "migrate_version",
    "SELECT version FROM migrate_version WHERE repository_id = ?",
    [repository],
  );
  const [head] = await ask("alembic_version", "SELECT version_num FROM alembic_version");
  return { version: integer(row?.version), head: text(head?.version_num) };
}
