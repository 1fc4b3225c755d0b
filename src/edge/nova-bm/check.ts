import type { BmFacts, BmNodeFacts } from "../../model/check.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { number, text } from "../database/rows.ts";
import { charsetsOf, isNotAscii } from "../database/stored-text.ts";
import { readSchema } from "./open.ts";

/**
 * What the readiness check wants of nova_bm.
 *
 * @throws MigrationError N2I-E202, N2I-E203, N2I-E206
 */
export async function checkNovaBm(database: Database): Promise<BmFacts> {
  const { version, columns } = await readSchema(database);
  const node = {
    // Versions before 3 have no uuid.
    ...{ id: number, uuid: sql(columns.bm_nodes?.includes("uuid") ? "uuid" : "NULL", text) },
    ...{ service_host: text, instance_uuid: text, task_state: text, deleted: softDeleted },
  };
  const nodes: BmNodeFacts[] = [];
  for await (const rows of inOrder(database, node, "bm_nodes", mayBeLive()))
    for (const row of rows) if (isLive(row)) nodes.push(factsOf(row));
  return {
    version,
    charset: await charsetOf(database),
    odd: await oddOnes(database, columns.bm_nodes ?? []),
    nodes,
  };
}

function factsOf({ id, uuid, service_host, instance_uuid, task_state }: BmNodeFacts): BmNodeFacts {
  return { id, uuid, service_host, instance_uuid: instance_uuid?.trim() || null, task_state };
}

/** The narrowest charset of the columns; on PostgreSQL the server's encoding. */
async function charsetOf(database: Database): Promise<string> {
  const names = await charsetsOf(database, ["bm_nodes", "bm_interfaces"]);
  return names.find((name) => !name.toLowerCase().startsWith("utf")) ?? names[0] ?? "utf8";
}

async function oddOnes(database: Database, columns: readonly string[]): Promise<number> {
  const odd = ["pm_user", "pm_password"].filter((name) => columns.includes(name));
  if (odd.length === 0) return 0;
  const where = odd.map((name) => isNotAscii(database, name)).join(" OR ");
  const live = `${mayBeLive()} AND (${where})`;
  let count = 0;
  for await (const rows of inOrder(database, { deleted: softDeleted }, "bm_nodes", live))
    count += rows.filter(isLive).length;
  return count;
}

/** As `extract` sees it: what it cannot read is blocked there, and not left out. */
function isLive({ deleted }: { readonly deleted: unknown }): boolean {
  return deleted !== true;
}
