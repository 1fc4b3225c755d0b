import type { Guard, Guards } from "../../model/handover.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { keyed, read, sql } from "../database/read.ts";
import { boolean, isTrue, string, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";

const GUARDS = ["protected", "protected_reason", "automated_clean"] as const;

/** Each statement requires that the guards are unchanged and no conductor has reserved the node. */
export function createGuard(database: Database, { node }: Release): Guard {
  const has = (column: string): boolean => node.some(({ name }) => name === column);
  const guards = GUARDS.filter(has);
  const column = (name: string): string => (has(name) ? name : "NULL");
  const fields = {
    ...{ uuid: string, provision_state: text, instance_uuid: text, reservation: text },
    ...{ maintenance: isTrue, maintenance_reason: sql(column("maintenance_reason"), text) },
    taken: sql("conductor_affinity", (value) => value !== null),
    protected: sql(column("protected"), isTrue),
    protected_reason: sql(column("protected_reason"), text),
    automated_clean: sql(column("automated_clean"), boolean),
  };
  return {
    async observe(uuids) {
      const from = `${await keyed(database, "nodes", "uuid")} WHERE uuid IN (...)`;
      const rows = await read(database, fields, from, uuids);
      return new Map(rows.map(({ uuid, ...node }) => [uuid, node]));
    },
    write: (uuid, expected, change) =>
      writing(database, (trx) =>
        database.run("changing a node's protection", async () => {
          const unchanged: Partial<Guards> = Object.fromEntries(
            guards.map((name) => [name, expected[name]]),
          );
          const changed: number = await trx("nodes")
            .where({ uuid, ...unchanged })
            .whereNull("reservation")
            .update(change);
          return changed === 1 ? "done" : "again";
        }),
      ),
  };
}
