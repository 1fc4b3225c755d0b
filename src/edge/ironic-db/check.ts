import { access, constants } from "node:fs/promises";
import type { IronicFacts } from "../../model/check.ts";
import { MigrationError } from "../../model/error.ts";
import { isOurs } from "../../model/staged.ts";
import type { Release } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { boolean, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";
import { identifyTarget } from "./open.ts";
import type { KnownReleases } from "./release.ts";
import { readService } from "./service.ts";

/**
 * What the readiness check wants of Ironic.
 *
 * @param database read-only
 * @param writing the same database with a session that may write, for MySQL's privileges
 * @param said release, where several share the head
 * @throws MigrationError N2I-E202, N2I-E204, N2I-E206, N2I-E208
 */
export async function checkIronic(
  database: Database,
  writing: Database,
  known: KnownReleases,
  said: string | undefined,
): Promise<{ readonly facts: IronicFacts; readonly release: Release }> {
  const { identity, release } = await identifyTarget(database, known, said);
  const stages = release.node.some(({ name }) => name === "maintenance_reason");
  const texts = ["uuid", "instance_uuid", "power_state", "extra"].concat(
    stages ? ["maintenance_reason"] : [],
  );
  const wanted = texts.map((name) => `${whole(database.engine, name)} AS ${name}`).join(", ");
  const rows = await database.run("reading nodes", () =>
    select(database, database.knex, `SELECT maintenance, ${wanted} FROM nodes ORDER BY id`),
  );
  const { conductors } = await readService(database, release);
  return {
    release,
    facts: {
      release: identity.release,
      charset: identity.charset,
      stages,
      forbidden: await forbidden(writing),
      conductors,
      nodes: rows.map((row) => {
        const maintenance = boolean(row.maintenance) === true;
        return {
          uuid: text(row.uuid) ?? "",
          instance_uuid: text(row.instance_uuid),
          maintenance,
          staged: isOurs(maintenance, text(row.maintenance_reason)),
          power_state: text(row.power_state),
          marked: /"nova_bm"\s*:/.test(text(row.extra) ?? ""),
        };
      }),
    },
  };
}

const VERBS = ["INSERT", "UPDATE", "DELETE"] as const;
const TABLES = ["nodes", "ports"] as const;

/** Statements that change no row and want the privilege all the same. */
const NOTHING: { readonly [verb in (typeof VERBS)[number]]: (table: string) => string } = {
  INSERT: (table) => `INSERT INTO ${table} (uuid) SELECT uuid FROM ${table} WHERE 1 = 0`,
  UPDATE: (table) => `UPDATE ${table} SET uuid = uuid WHERE 1 = 0`,
  DELETE: (table) => `DELETE FROM ${table} WHERE 1 = 0`,
};

/**
 * What this user may not do. PostgreSQL's grant tables know, roles included; MySQL's do not know of
 * roles, so it is asked by statements without a row, rolled back; SQLite's privileges are its file's.
 */
async function forbidden(database: Database): Promise<readonly string[]> {
  const lacking: string[] = [];
  for (const table of TABLES)
    for (const verb of VERBS)
      if (!(await may(database, verb, table))) lacking.push(`${verb} ${table}`);
  if (database.engine === "postgresql")
    for (const table of TABLES)
      if (!(await mayCount(database, table))) lacking.push(`USAGE ${table}_id_seq`);
  return lacking;
}

/** PostgreSQL gives ids from a sequence, which has privileges of its own. */
async function mayCount(database: Database, table: string): Promise<boolean> {
  const sql =
    "SELECT coalesce(has_sequence_privilege(pg_get_serial_sequence(?, 'id'), 'USAGE'), true) AS may";
  const [row] = await database.run("asking for privileges", () =>
    select(database, database.knex, sql, [table]),
  );
  return boolean(row?.may) === true;
}

async function may(
  database: Database,
  verb: (typeof VERBS)[number],
  table: string,
): Promise<boolean> {
  const { engine, knex, address } = database;
  if (engine === "sqlite")
    return access(address.filename ?? "", constants.W_OK).then(
      () => true,
      () => false,
    );
  if (engine === "postgresql") {
    const [row] = await database.run("asking for privileges", () =>
      select(database, knex, "SELECT has_table_privilege(?, ?) AS may", [table, verb]),
    );
    return boolean(row?.may) === true;
  }
  const trx = await database.run("opening a transaction", () => knex.transaction());
  try {
    await database.run(`asking for ${verb}`, () => trx.raw(NOTHING[verb](table)));
    return true;
  } catch (error) {
    if (error instanceof MigrationError && error.code === "N2I-E206") return false;
    throw error;
  } finally {
    await trx.rollback();
  }
}
