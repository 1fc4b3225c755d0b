import type { TextSet } from "../../model/rows.ts";
import type { Database } from "../database/open.ts";
import { inOrder, quoted, sql } from "../database/read.ts";
import { garbled, lower, type RawRow, string, text } from "../database/rows.ts";

/** From bm_nodes.instance_uuid. */
export interface Claimed extends TextSet {
  readonly count: number;
}

/** Without other keys, because some contain admin passwords. */
const METADATA =
  "('image_base_image_ref','image_disk_format','image_kernel_id','image_ramdisk_id','instance_type_flavorid','instance_type_name')";

export function keptMetadata({ engine }: Pick<Database, "engine">): string {
  return `${quoted(engine, "key")} IN ${METADATA} AND deleted = 0`;
}

export interface Described {
  /** Lower case. */
  readonly instance: string;
  readonly name: string;
  readonly value: string | null;
  readonly garbled: boolean;
}

export function toDescribed({ instance_uuid, name, value }: RawRow): Described {
  return {
    ...{ instance: lower(instance_uuid), name: string(name) },
    ...{ value: text(value), garbled: garbled(value) },
  };
}

/**
 * Reads instance_system_metadata (about 20 rows per instance) once and keeps the machines' rows.
 */
export async function readMetadata(
  database: Database,
  claimed: Claimed,
): Promise<readonly Described[]> {
  const rows: Described[] = [];
  const is = (value: unknown): unknown => value;
  const fields = { instance_uuid: is, value: is, name: sql(quoted(database.engine, "key"), is) };
  const kept = keptMetadata(database);
  for await (const page of inOrder(database, fields, "instance_system_metadata", kept))
    for (const row of page) {
      const described = toDescribed(row);
      if (claimed.has(described.instance)) rows.push(described);
    }
  return rows;
}
