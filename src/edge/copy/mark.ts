import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { literal, outside } from "./outside.ts";

/** Begins the name of a table that says in a database that a rehearsal made what is there; its end is which one. */
const MARK = "nova2ironic_rehearsal_";

/** Made before any other table is; of what is copied whole, after it. One statement: no kill leaves half a mark. */
export function markAs(copy: Database, id: string): Promise<void> {
  return outside(copy, async (on) => {
    const make = `CREATE TABLE ${MARK}${id} (id integer NOT NULL PRIMARY KEY)`;
    await copy.run("marking the copy", () => on.raw(make));
  });
}

/** Of which rehearsals a database is, and what else is in it. */
export async function marksOf(copy: Database): Promise<{
  readonly marks: readonly string[];
  readonly tables: readonly string[];
}> {
  const all = [...(await tableNames(copy))].toSorted();
  const marks = all.filter((name) => !isNotMark(name)).map((name) => name.slice(MARK.length));
  return { marks, tables: all.filter(isNotMark) };
}

export function isNotMark(table: string): boolean {
  return !table.startsWith(MARK);
}

/** Takes the tables of a rehearsal out of a database that others made, the mark last; what else is there stays. */
export function dropAll(copy: Database, tables: readonly string[], id: string): Promise<void> {
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
    await drop(`DROP TABLE ${MARK}${id}`);
    if (engine === "mysql") await drop("SET SESSION foreign_key_checks=1");
    // What was in a page that is free is in the file still.
    if (engine === "sqlite") await drop("VACUUM");
  });
}
