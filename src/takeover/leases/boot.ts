import { groupedBy } from "../../lib/grouped.ts";
import type { Database } from "../../systems/database/open.ts";
import { read, sql } from "../../systems/database/read.ts";
import { lower, number, spellings, string, text } from "../../systems/database/rows.ts";
import type { BootRecord } from "./leases.ts";

/** With what the agent of its host has published. */
interface BootFacts extends Omit<BootRecord, "instance_uuid"> {
  readonly macs: readonly string[];
  /** Ids of Neutron ports. */
  readonly vifs: readonly string[];
  /** bm_nodes.deploy_key, which the boot file names. */
  readonly key: string | null;
}

/** Boot data by bm_nodes.id. */
export async function readBootFacts(
  database: Database,
  machines: readonly { readonly id: number; readonly instance: string }[],
): Promise<ReadonlyMap<number, BootFacts>> {
  const ids = machines.map(({ id }) => id);
  const live = database.engine === "postgresql" ? "NOT deleted" : "deleted = 0";
  const nics = await read(
    database,
    { bm_node_id: number, address: sql("address", lower), vif_uuid: text },
    `bm_interfaces WHERE ${live} AND address IS NOT NULL AND bm_node_id IN (...) ORDER BY id`,
    ids,
  );
  const byNode = groupedBy(
    nics,
    ({ bm_node_id }) => bm_node_id,
    (row) => row,
  );
  const keys = await read(
    database,
    { id: number, deploy_key: text },
    "bm_nodes WHERE id IN (...)",
    ids,
  );
  const keyOf = new Map(keys.map((row) => [row.id, row.deploy_key || null]));
  const records = await read(
    database,
    { instance_uuid: string, root_uuid: text, kernel_id: text, ramdisk_id: text },
    "bm_boot_records WHERE instance_uuid IN (...)",
    spellings(machines.map(({ instance }) => instance)),
  );
  const published = new Map(records.map((row) => [row.instance_uuid.toLowerCase(), row]));
  return new Map(
    machines.map(({ id, instance }) => {
      const own = byNode.get(id) ?? [];
      const record = published.get(instance.toLowerCase());
      return [
        id,
        {
          macs: own.map(({ address }) => address),
          vifs: own.flatMap(({ vif_uuid }) => vif_uuid || []),
          key: keyOf.get(id) ?? null,
          root_uuid: record?.root_uuid ?? null,
          kernel_id: record?.kernel_id || null,
          ramdisk_id: record?.ramdisk_id || null,
        },
      ];
    }),
  );
}
