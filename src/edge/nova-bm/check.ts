import type { BmFacts } from "../../model/check.ts";
import type { Database } from "../database/open.ts";
import { integer, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";
import { readSchema } from "./open.ts";

const COLUMNS = ["uuid", "service_host", "instance_uuid", "task_state"];

/**
 * What the readiness check wants of nova_bm.
 *
 * @throws MigrationError N2I-E202, N2I-E203, N2I-E206
 */
export async function checkNovaBm(database: Database): Promise<BmFacts> {
  const { version, columns } = await readSchema(database);
  // Versions before 3 have no uuid.
  const there = COLUMNS.filter((name) => columns.bm_nodes?.includes(name));
  const wanted = there.map((name) => `${whole(database.engine, name)} AS ${name}`).join(", ");
  const rows = await database.run("reading bm_nodes", () =>
    select(
      database,
      database.knex,
      `SELECT id, ${wanted} FROM bm_nodes WHERE deleted IS NOT TRUE ORDER BY id`,
    ),
  );
  return {
    version,
    nodes: rows.map((row) => ({
      id: integer(row.id) ?? 0,
      uuid: text(row.uuid),
      service_host: text(row.service_host),
      instance_uuid: text(row.instance_uuid),
      task_state: text(row.task_state),
    })),
  };
}
