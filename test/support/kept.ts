import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { copyFolder } from "./copy-folder.ts";

/** States of a run and its target by name, to try several ways on from one of them. */
export interface Kept {
  readonly save: (name: string) => Promise<void>;
  readonly restore: (name: string) => Promise<void>;
}

interface Place {
  readonly engine: Engine;
  readonly folder: string;
  readonly run: string;
  /** SQLite: the database's file. */
  readonly file: string;
  /** Elsewhere: a database (MySQL) or schema (PostgreSQL) beside it. */
  readonly beside: string;
  readonly sql: <T>(work: (db: Knex) => Promise<T>) => Promise<T>;
}

/** Files SQLite keeps beside a database; a process that was killed leaves some of them. */
const SIDES = ["", "-journal", "-wal", "-shm"];

export function keeper(place: Place): Kept {
  const { engine, folder, run } = place;
  const database = engine === "sqlite" ? keepFile(place) : keepTables(place);
  return {
    async save(name) {
      const kept = join(folder, `kept-${name}`);
      rmSync(kept, { recursive: true, force: true });
      copyFolder(run, kept);
      await database.save(name);
    },
    async restore(name) {
      rmSync(run, { recursive: true, force: true });
      copyFolder(join(folder, `kept-${name}`), run);
      await database.restore(name);
    },
  };
}

/** Writes into the file there is, as the plan knows the database by its inode. */
function keepFile({ file }: Place): Kept {
  const states = new Map<string, ReadonlyMap<string, Buffer>>();
  return {
    async save(name) {
      const there = SIDES.filter((side) => existsSync(`${file}${side}`));
      states.set(name, new Map(there.map((side) => [side, readFileSync(`${file}${side}`)])));
    },
    async restore(name) {
      for (const side of SIDES) {
        const bytes = states.get(name)?.get(side);
        if (bytes !== undefined) writeFileSync(`${file}${side}`, bytes);
        else rmSync(`${file}${side}`, { force: true });
      }
    },
  };
}

/** Nodes and ports with their ids; numbering goes on from where it was. */
function keepTables({ sql, beside }: Place): Kept {
  return {
    save: (name) =>
      sql(async (db) => {
        for (const table of ["nodes", "ports"]) {
          await db.raw(`DROP TABLE IF EXISTS ${beside}.${name}_${table}`);
          await db.raw(`CREATE TABLE ${beside}.${name}_${table} AS SELECT * FROM ${table}`);
        }
      }),
    restore: (name) =>
      sql((db) =>
        db.transaction(async (trx) => {
          for (const table of ["ports", "nodes"]) await trx.raw(`DELETE FROM ${table}`);
          for (const table of ["nodes", "ports"])
            await trx.raw(`INSERT INTO ${table} SELECT * FROM ${beside}.${name}_${table}`);
        }),
      ),
  };
}
