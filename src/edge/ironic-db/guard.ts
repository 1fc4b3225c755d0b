import type { Guard, Guarded, Guards } from "../../model/handover.ts";
import type { Release } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { askIn, boolean, columnList, type RawRow, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";

const SEEN = [
  ...["uuid", "provision_state", "instance_uuid", "maintenance", "maintenance_reason"],
  ...["reservation", "conductor_affinity"],
];
const GUARDS = ["protected", "protected_reason", "automated_clean"] as const;

/**
 * Guards by Ironic's own database. Each change is one statement that changes the row only while its
 * guards are as they were seen and no conductor has reserved it. What a release has no column for is
 * not there.
 */
export function createGuard(database: Database, { node }: Release): Guard {
  const has = (column: string): boolean => node.some(({ name }) => name === column);
  const guards = GUARDS.filter(has);
  const columns = columnList(database, [...SEEN.filter(has), ...guards]);
  return {
    async observe(uuids) {
      const sql = `SELECT ${columns} FROM nodes WHERE uuid IN (...)`;
      const rows = await askIn(database, "observing nodes", sql, uuids);
      return new Map(rows.map((row) => [text(row.uuid) ?? "", guarded(row)]));
    },
    write: (uuid, seen, change) =>
      writing(database, (trx) =>
        database.run("changing a node's protection", async () => {
          const still: Partial<Guards> = Object.fromEntries(
            guards.map((name) => [name, seen[name]]),
          );
          const changed: number = await trx("nodes")
            .where({ uuid, ...still })
            .whereNull("reservation")
            .update(change);
          return changed === 1 ? "done" : "again";
        }),
      ),
  };
}

function guarded(row: RawRow): Guarded {
  return {
    provision_state: text(row.provision_state),
    instance_uuid: text(row.instance_uuid),
    maintenance: boolean(row.maintenance) === true,
    maintenance_reason: text(row.maintenance_reason),
    reservation: text(row.reservation),
    taken: row.conductor_affinity !== null,
    protected: boolean(row.protected) === true,
    protected_reason: text(row.protected_reason),
    automated_clean: boolean(row.automated_clean),
  };
}
