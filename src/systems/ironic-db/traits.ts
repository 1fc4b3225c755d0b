import { BATCH } from "../../lib/streams.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { Database } from "../database/open.ts";
import { keyed, read, valuesBy } from "../database/read.ts";
import { number, type RawRow, string } from "../database/rows.ts";

interface Where {
  readonly database: Database;
  readonly release: Release;
}

/** One row per trait. @source facts/ironic.md 1.4 */
export const TRAITS = "node_traits";

export async function withTraits(
  { database, release }: Where,
  nodes: readonly RawRow[],
): Promise<readonly RawRow[]> {
  if (release.doc.versions.trait === undefined || nodes.length === 0) return nodes;
  const from = `${await keyed(database, TRAITS, "node_id")} WHERE node_id IN (...)`;
  const ids = nodes.map(({ id }) => number(id));
  const rows = await read(database, { node_id: number, trait: string }, from, ids);
  const traits = valuesBy(rows, "node_id", "trait");
  return nodes.map((row) => {
    const nodeTraits = traits.get(number(row.id));
    return nodeTraits === undefined ? row : { ...row, traits: nodeTraits.toSorted() };
  });
}

export function traitsOf({ traits }: Row | RawRow): readonly string[] {
  return Array.isArray(traits) ? traits.map(String) : [];
}

export async function insertTraits(
  { database, release }: Where,
  rows: readonly Row[],
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  const cells = rows.flatMap((row) =>
    traitsOf(row).map((trait) => [
      ids.get(String(row.uuid)) ?? null,
      trait,
      release.doc.versions.trait ?? null,
      typeof row.created_at === "string" ? row.created_at : null,
    ]),
  );
  for (let at = 0; at < cells.length; at += BATCH) {
    const some = cells.slice(at, at + BATCH);
    const values = some.map(() => "(?,?,?,?)").join(",");
    const sql = `INSERT INTO ${TRAITS} (node_id, trait, version, created_at) VALUES ${values}`;
    await database.run(`writing ${TRAITS}`, () => database.knex.raw(sql, some.flat()));
  }
}
