import type { BmFacts } from "../../model/check.ts";
import { mayBeLive, softDeleted } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { ask, columnList, integer, type RawRow, text, whole } from "../database/rows.ts";
import { isNotAscii } from "../database/stored-text.ts";
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
  const wanted = columnList(database, ["deleted", ...there]);
  const sql = `SELECT id, ${wanted} FROM bm_nodes WHERE ${mayBeLive()} ORDER BY id`;
  const rows = await ask(database, "reading bm_nodes", sql);
  return {
    version,
    charset: await charsetOf(database),
    odd: await oddOnes(database, columns.bm_nodes ?? []),
    nodes: rows.filter(isLive).map((row) => ({
      id: integer(row.id) ?? 0,
      uuid: text(row.uuid),
      service_host: text(row.service_host),
      instance_uuid: text(row.instance_uuid)?.trim() || null,
      task_state: text(row.task_state),
    })),
  };
}

/** The narrowest charset of the columns; on PostgreSQL the server's encoding. */
async function charsetOf(database: Database): Promise<string> {
  const sql = {
    mysql:
      "SELECT DISTINCT character_set_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('bm_nodes','bm_interfaces') AND character_set_name IS NOT NULL ORDER BY name",
    postgresql: "SELECT current_setting('server_encoding') AS name",
    sqlite: null,
  }[database.engine];
  if (sql === null) return "utf8";
  const rows = await ask(database, "reading charsets", sql);
  const names = rows.map(({ name }) => text(name) ?? "");
  return names.find((name) => !name.toLowerCase().startsWith("utf")) ?? names[0] ?? "utf8";
}

async function oddOnes(database: Database, columns: readonly string[]): Promise<number> {
  const odd = ["pm_user", "pm_password"].filter((name) => columns.includes(name));
  if (odd.length === 0) return 0;
  const where = odd.map((name) => isNotAscii(database, name)).join(" OR ");
  const sql = `SELECT ${whole(database.engine, "deleted")} AS deleted FROM bm_nodes WHERE ${mayBeLive()} AND (${where})`;
  const rows = await ask(database, "reading bm_nodes", sql);
  return rows.filter(isLive).length;
}

/** As `extract` sees it: what it cannot read is blocked there, and not left out. */
function isLive({ deleted }: RawRow): boolean {
  return softDeleted(deleted) !== true;
}
