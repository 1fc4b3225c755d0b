import type { FlavorRows } from "../../model/nova/nova-rows.ts";
import { deletedNumber } from "../database/deleted.ts";
import type { Database } from "../database/open.ts";
import { read, sql, valuesBy } from "../database/read.ts";
import { number, string, text } from "../database/rows.ts";

/**
 * Includes deleted flavors, because instances may still use them.
 *
 * @source facts/nova-bm.md 4.1, 4.3
 */
export async function readFlavorRows(database: Database): Promise<FlavorRows> {
  const used = await read(
    database,
    { instance_type_id: number, host: string },
    "instances WHERE deleted = 0 AND instance_type_id IS NOT NULL GROUP BY instance_type_id, host ORDER BY host",
  );
  const spec = { ...SPEC, instance_type_id: number, deleted: deletedNumber, deleted_at: text };
  const specs = "instance_type_extra_specs WHERE deleted = 0 ORDER BY id";
  return {
    ...{ schema: "nova", hosts: valuesBy(used, "instance_type_id", "host") },
    flavors: await read(
      database,
      { ...FLAVOR, deleted: deletedNumber },
      "instance_types ORDER BY id",
    ),
    specs: await read(database, spec, specs),
  };
}

const FLAVOR = { id: number, name: text, flavorid: text };
const SPEC = { id: number, key: string, value: text };
const NONE = sql("0", number);

/** nova_api removes deleted rows. @param hosts by flavor, from nova @source facts/nova-bm.md 4.3 */
export async function readApiFlavors(
  database: Database,
  hosts: FlavorRows["hosts"],
): Promise<FlavorRows> {
  const spec = {
    ...{ ...SPEC, instance_type_id: sql("flavor_id", number), deleted: NONE },
    ...{ deleted_at: sql("NULL", text), created_at: text, updated_at: text },
  };
  return {
    ...{ schema: "nova_api", hosts },
    flavors: await read(database, { ...FLAVOR, deleted: NONE }, "flavors ORDER BY id"),
    specs: await read(database, spec, "flavor_extra_specs ORDER BY id"),
  };
}
