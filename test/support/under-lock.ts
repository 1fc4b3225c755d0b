import type { Knex } from "knex";
import type { TestDatabase } from "../lab/index.ts";

/** Tables that the tool writes on MySQL, where each takes three triggers; PostgreSQL has them on all. */
const WRITTEN = ["nodes", "ports", "instances", "compute_nodes", "services"];

const POSTGRES = [
  `CREATE FUNCTION under_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF session_user <> 'lab' AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'
      AND pid = pg_backend_pid() AND objid = 6672154 AND granted) THEN
    RAISE EXCEPTION 'a row is written without the lock';
  END IF;
  RETURN NULL;
END $$`,
  `DO $$ DECLARE name text;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('CREATE TRIGGER under_lock BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE PROCEDURE under_lock()', name);
  END LOOP;
END $$`,
];

/**
 * From here on the server refuses each change of a row by the tool whose connection does not hold the
 * lock of writers: a writer that forgets it fails the first test that runs it.
 */
export async function onlyUnderLock({ engine, db, name }: TestDatabase): Promise<void> {
  if (engine === "sqlite") return;
  const statements = engine === "postgresql" ? POSTGRES : await mysql(db, name);
  for (const statement of statements) await db.raw(statement);
}

async function mysql(db: Knex, name: string): Promise<readonly string[]> {
  const there = await Promise.all(WRITTEN.map((table) => db.schema.hasTable(table)));
  const lock = `IS_USED_LOCK(CONCAT('nova2ironic.write.', MD5('${name}')))`;
  return WRITTEN.filter((_, at) => there[at]).flatMap((table) =>
    ["INSERT", "UPDATE", "DELETE"].map(
      (verb) => `CREATE TRIGGER ${table}_${verb} BEFORE ${verb} ON ${table} FOR EACH ROW
BEGIN
  IF USER() NOT LIKE 'lab@%' AND NOT (${lock} <=> CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is written without the lock';
  END IF;
END`,
    ),
  );
}
