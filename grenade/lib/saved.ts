import type { Knex } from "knex";
import { NEUTRON_DATABASE } from "../../test/lab/cloud/neutron.ts";
import { NOVA_DATABASES } from "../../test/lab/cloud/nova.ts";
import { PLACEMENT_DATABASE } from "../../test/lab/cloud/placement.ts";
import { LEGACY_DATABASE } from "./base.ts";
import { keepOnPostgres } from "./saved-postgres.ts";
import type { Stack } from "./stack.ts";

/** Brings databases and machines back to a moment; nobody but Nova's controller and Neutron may run meanwhile. */
export type Restore = () => Promise<void>;

/** A table, and where its rows are kept; null when it had none. */
interface Kept {
  readonly table: string;
  readonly copy: string | null;
}

const ATTEMPTS = 5;

/**
 * Keeps all rows of nova_bm, Nova, Placement, Neutron and Ironic on the server itself, and the power of each
 * machine: a fraction of the time that dumps take.
 *
 * @param name of what is kept, in place of what had it: letters
 */
export async function save(stack: Stack, name: string): Promise<Restore> {
  const { server, sim, ironic } = stack;
  const databases = [
    ...[LEGACY_DATABASE, ...Object.values(NOVA_DATABASES)],
    ...[PLACEMENT_DATABASE, NEUTRON_DATABASE, ironic.database],
  ];
  const bringBack =
    server.engine === "postgresql"
      ? await keepOnPostgres(databases.map(stack.db), name)
      : await keepOnMariadb(stack, databases, name);
  const power = sim.addresses.map((_, at) => sim.power(at));
  return async () => {
    // Nova's controller writes its heartbeats all the time.
    for (let attempt = 1; ; attempt++)
      try {
        await bringBack();
        break;
      } catch (cause) {
        if (attempt === ATTEMPTS) throw cause;
      }
    for (const [at, on] of power.entries()) if (sim.power(at) !== on) sim.setPower(at, on);
  };
}

async function keepOnMariadb(
  { server, db: connected }: Stack,
  databases: readonly string[],
  name: string,
): Promise<() => Promise<void>> {
  const db = connected(LEGACY_DATABASE);
  const saved = `saved_${name}`;
  await server.dropDatabase(saved);
  await server.newDatabase(saved);
  const kept = await db.transaction((trx) => keep(trx, saved, databases));
  return () => bringBack(db, kept);
}

/** Rows whose number is 0 keep it, as Placement has them. */
const LITERALLY = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')";

async function keep(
  db: Knex,
  saved: string,
  databases: readonly string[],
): Promise<readonly Kept[]> {
  await db.raw(LITERALLY);
  const kept: Kept[] = [];
  for (const database of databases)
    for (const own of await tables(db, database)) {
      const table = `\`${database}\`.\`${own}\``;
      const copy = (await filled(db, table)) ? `\`${saved}\`.t${kept.length}` : null;
      if (copy !== null) {
        await db.raw(`CREATE TABLE ${copy} LIKE ${table}`);
        await db.raw(`INSERT INTO ${copy} SELECT * FROM ${table}`);
      }
      kept.push({ table, copy });
    }
  return kept;
}

async function bringBack(db: Knex, kept: readonly Kept[]): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.raw(LITERALLY);
    await trx.raw("SET FOREIGN_KEY_CHECKS = 0");
    for (const { table, copy } of kept) {
      if (copy !== null || (await filled(trx, table))) await trx.raw(`DELETE FROM ${table}`);
      if (copy !== null) await trx.raw(`INSERT INTO ${table} SELECT * FROM ${copy}`);
    }
    await trx.raw("SET FOREIGN_KEY_CHECKS = 1");
  });
}

async function tables(db: Knex, database: string): Promise<readonly string[]> {
  const rows: readonly { readonly name: string }[] = await db("information_schema.tables")
    .select({ name: "table_name" })
    .where({ table_schema: database, table_type: "BASE TABLE" });
  return rows.map(({ name }) => name).toSorted();
}

async function filled(db: Knex, table: string): Promise<boolean> {
  const [rows] = await db.raw(`SELECT 1 FROM ${table} LIMIT 1`);
  return rows.length > 0;
}
