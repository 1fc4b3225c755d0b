import type { TextSet } from "../../model/rows.ts";
import type { Database } from "../database/open.ts";
import { inOrder, quoted, type RowOf, sql } from "../database/read.ts";
import { garbled, lower, string, text } from "../database/rows.ts";

/** Without other keys, because some contain admin passwords. */
const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

export function savedMetadata({ engine }: Pick<Database, "engine">): string {
  return `${quoted(engine, "key")} IN ${METADATA} AND deleted = 0`;
}

export type Described = RowOf<ReturnType<typeof describedBy>>;

export function describedBy({ engine }: Pick<Database, "engine">) {
  return {
    ...{ instance: sql("instance_uuid", lower), name: sql(quoted(engine, "key"), string) },
    // Only SQLite returns text that is not UTF-8.
    ...{ value: text, garbled: sql(engine === "sqlite" ? "value" : "NULL", garbled) },
  };
}

/**
 * Reads instance_system_metadata (about 20 rows per instance) once and keeps the machines' rows.
 */
export async function readMetadata(
  database: Database,
  claimed: TextSet,
): Promise<readonly Described[]> {
  const rows: Described[] = [];
  const [fields, condition] = [describedBy(database), savedMetadata(database)];
  for await (const page of inOrder(database, fields, "instance_system_metadata", condition))
    for (const row of page) if (claimed.has(row.instance)) rows.push(row);
  return rows;
}
