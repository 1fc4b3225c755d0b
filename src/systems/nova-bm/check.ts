import type { BmFacts, BmNodeFacts } from "../../model/check.ts";
import { createTextSet, type TextSet } from "../../model/rows.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { number, string, text } from "../database/rows.ts";
import { readSchema } from "./open.ts";

/** @throws MigrationError N2I-E202, N2I-E203, N2I-E206 */
export async function checkNovaBm(database: Database): Promise<BmFacts> {
  const { version, columns } = await readSchema(database);
  const node = {
    // Schema versions before 3 have no uuid.
    ...{ id: number, uuid: sql(columns.bm_nodes?.includes("uuid") ? "uuid" : "NULL", text) },
    ...{ service_host: text, instance_uuid: text, task_state: text, deleted: softDeleted },
  };
  const nodes: BmNodeFacts[] = [];
  for await (const rows of inOrder(database, node, "bm_nodes", mayBeLive()))
    for (const { deleted, instance_uuid: uuid, ...row } of rows)
      if (deleted !== true) nodes.push({ ...row, instance_uuid: uuid?.trim() || null });
  return { version, nodes };
}

/** Read separately, so machines may have changed. @source facts/nova-bm.md 1.3 */
export async function claimedInstances(database: Database): Promise<TextSet> {
  const distinct = createTextSet();
  const where = "instance_uuid IS NOT NULL";
  for await (const page of inOrder(database, { instance_uuid: string }, "bm_nodes", where))
    for (const { instance_uuid } of page) distinct.add(instance_uuid);
  return distinct;
}
