import type { Knex } from "knex";
import type { TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { Release } from "../../model/target.ts";
import { columnNames, identify, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { ask, columnList, text } from "../database/rows.ts";
import { charsetsOf } from "../database/stored-text.ts";
import { type KnownReleases, releaseOf } from "./release.ts";

export async function headOf(database: Database, on: Knex = database.knex): Promise<string> {
  const sql = `SELECT ${columnList(database, ["version_num"])} FROM alembic_version`;
  const rows = await ask(database, "reading alembic_version", sql, [], on);
  return rows.map(({ version_num }) => text(version_num) ?? "").join("+");
}

/** The narrowest charset of the columns we write; PostgreSQL and SQLite hold everything. */
async function charsetOf(database: Database): Promise<string> {
  if (database.engine !== "mysql") return "utf8";
  const names = await charsetsOf(database, ["nodes", "ports"]);
  // Servers before MariaDB 10.6 and MySQL 8.0.28 call utf8mb3 utf8.
  return names.find((name) => name !== "utf8mb4")?.replace(/^utf8$/, "utf8mb3") ?? "utf8mb4";
}

/**
 * Which Ironic this is: by alembic head, then by the columns really there.
 *
 * @param said release, where several share the head
 * @throws MigrationError N2I-E202 when it is another database, N2I-E204 when its head is unknown,
 *   unsupported, or its columns are not those of the head, N2I-E208 when `said` does not decide
 */
export async function identifyTarget(
  database: Database,
  known: KnownReleases,
  said?: string,
): Promise<{ readonly identity: TargetIdentity; readonly release: Release }> {
  const tables = await tableNames(database);
  const missing = ["nodes", "ports", "alembic_version"].filter((table) => !tables.has(table));
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `--ironic-db ${database.shown} is not an Ironic database: it has no ${missing.join(", ")}${tables.has("bm_nodes") ? "; it is a nova_bm database" : ""}`,
    );
  const head = await headOf(database);
  const release = releaseOf(head, known, database.shown, said);
  for (const [table, columns] of [
    ["nodes", release.node],
    ["ports", release.port],
  ] as const) {
    const there = await columnNames(database, table);
    const lacking = columns.filter(({ name }) => !there.includes(name)).map(({ name }) => name);
    const more = there.filter((name) => !columns.some((column) => column.name === name));
    if (lacking.length + more.length > 0)
      throw new MigrationError(
        "N2I-E204",
        `--ironic-db ${database.shown}: ${table} does not look like ${release.doc.release}: lacks ${lacking.join(", ") || "nothing"}, has also ${more.join(", ") || "nothing"}`,
      );
  }
  return {
    release,
    identity: {
      ...(await identify(database)),
      alembic_head: head,
      release: release.doc.release,
      charset: await charsetOf(database),
    },
  };
}
