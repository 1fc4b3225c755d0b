import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, string } from "../database/rows.ts";
import { literal, outside } from "./outside.ts";

/** Says in a database that a rehearsal made what is there, and which one. */
const MARK = "nova2ironic_rehearsal";

/** Made before any other table is; of what is copied whole, after it. */
export function markAs(copy: Database, id: string): Promise<void> {
  return outside(copy, async (on) => {
    const make = `CREATE TABLE ${MARK} (id varchar(32) NOT NULL)`;
    await copy.run("marking the copy", () => on.raw(make));
    const fill = `INSERT INTO ${MARK} (id) VALUES ('${id}')`;
    await copy.run("marking the copy", () => on.raw(fill));
  });
}

/** Of which rehearsal a database is; null where no mark stands, or none is in it yet. */
export async function markOf(copy: Database): Promise<{
  readonly id: string | null;
  readonly tables: readonly string[];
}> {
  const tables = [...(await tableNames(copy))].toSorted();
  if (!tables.includes(MARK)) return { id: null, tables };
  const [row] = await ask(copy, "reading the mark", `SELECT id FROM ${quoted(copy.engine, MARK)}`);
  // A kill between both statements leaves it empty.
  return { id: row === undefined ? null : string(row.id), tables: tables.filter(isNotMark) };
}

export function isNotMark(table: string): boolean {
  return table !== MARK;
}

/** Takes the tables of a rehearsal out of a database that others made, the mark last; what else is there stays. */
export function dropAll(copy: Database, tables: readonly string[]): Promise<void> {
  const { engine } = copy;
  return outside(copy, async (on) => {
    const drop = (sql: string) =>
      copy.run("dropping the copy's tables", () => on.raw(literal(copy, sql)));
    const names = tables.map((name) => quoted(engine, name));
    // Its tables refer to each other, both ways.
    if (engine === "mysql") await drop("SET SESSION foreign_key_checks=0");
    if (engine === "sqlite") {
      await drop("PRAGMA foreign_keys=OFF");
      for (const name of names) await drop(`DROP TABLE ${name}`);
    } else if (names.length > 0) await drop(`DROP TABLE ${names.join(", ")}`);
    await drop(`DROP TABLE IF EXISTS ${MARK}`);
    if (engine === "mysql") await drop("SET SESSION foreign_key_checks=1");
    // What was in a page that is free is in the file still.
    if (engine === "sqlite") await drop("VACUUM");
  });
}
