import type { TestDatabase } from "../lab/index.ts";

/**
 * A trigger that refuses a change of a row and quotes it, as an auditing one may.
 * @param quoted what it quotes, as SQL
 * @returns drops it
 */
export async function refuseLoudly(
  { engine, db }: TestDatabase,
  verb: "INSERT" | "UPDATE" | "DELETE",
  table: string,
  quoted: string,
): Promise<() => Promise<unknown>> {
  const on = `BEFORE ${verb} ON ${table}`;
  if (engine === "sqlite")
    await db.raw(`CREATE TRIGGER loud ${on} BEGIN SELECT RAISE(ABORT, 'no more'); END`);
  else if (engine === "mysql")
    await db.raw(
      `CREATE TRIGGER loud ${on} FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = ${quoted}`,
    );
  else {
    await db.raw(
      `CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION 'no: %', ${quoted} USING DETAIL = ${quoted}, HINT = ${quoted}; END $$`,
    );
    await db.raw(`CREATE TRIGGER loud ${on} FOR EACH ROW EXECUTE FUNCTION loud()`);
  }
  return () =>
    db.raw(engine === "postgresql" ? `DROP TRIGGER loud ON ${table}` : "DROP TRIGGER loud");
}
