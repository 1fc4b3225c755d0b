import type { Knex } from "knex";

/** So many nodes like the first one, written as rows; each letter is another set. */
export async function copyNodes(db: Knex, count: number, letter = "c"): Promise<void> {
  const [first] = await db("nodes").orderBy("id").limit(1);
  const { id: _id, ...row } = first as { readonly [column: string]: unknown };
  const made = Array.from({ length: count }, (_, at) => ({
    ...row,
    uuid: `${letter}0ffee00-0000-4000-8000-${String(at).padStart(12, "0")}`,
    name: `${letter}-${at}`,
  }));
  await db.batchInsert("nodes", made, 250);
}
