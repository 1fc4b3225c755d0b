import { createTextSet, type TextSet } from "../../model/rows.ts";
import type { Database } from "../database/open.ts";
import { inOrder } from "../database/read.ts";
import { string } from "../database/rows.ts";

/**
 * The instances that machines have, each once, however it is spelt. It is read apart
 * from the machines themselves: one may have another by then.
 *
 * @source facts/nova-bm.md 1.3
 */
export async function claimedInstances(
  database: Database,
): Promise<TextSet & { readonly count: number }> {
  const met = createTextSet();
  let count = 0;
  const where = "instance_uuid IS NOT NULL";
  for await (const page of inOrder(database, { instance_uuid: string }, "bm_nodes", where))
    for (const { instance_uuid } of page) if (met.add(instance_uuid)) count += 1;
  return { has: met.has, count };
}
