import type { Knex } from "knex";
import { type Guard, type Guards, type Handover, STAGED } from "../../model/handover.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { keyed, read, sql } from "../database/read.ts";
import { ageOf, boolean, integer, isTrue, string, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";
import { isAlive, readService } from "./service.ts";

/**
 * Each statement requires that the node is as expected and not reserved. Conductors read the row
 * for every operation.
 *
 * @source facts/ironic.md 0.1, 1.5, 2.2; facts/rehearsal.md 3
 */
export function createHandover(database: Database, release: Release): Handover {
  const { node } = release;
  // Juno stores no maintenance reason.
  const hasReason = node.some(({ name }) => name === "maintenance_reason");
  const fields = {
    ...{ uuid: string, provision_state: text, maintenance: isTrue },
    maintenance_reason: sql(hasReason ? "maintenance_reason" : "NULL", text),
    ...{ reservation: text, last_error: text, power_state: text },
    ...{ conductor_affinity: integer, hostname: text, online: isTrue },
    age: sql(ageOf(database.engine, "conductors.updated_at"), integer),
  };
  const set = (doing: string, uuid: string, from: Maintenance, to: Maintenance, more = {}) =>
    writing(database, (trx) =>
      database.run(doing, async () => {
        const changed: number = await maintenance(trx("nodes").where({ uuid }), from)
          .whereNull("reservation")
          .update({ maintenance: to !== null, maintenance_reason: to, ...more });
        return changed === 1;
      }),
    );
  return {
    async observe(uuids) {
      const nodes = await keyed(database, "nodes", "uuid");
      const from = `${nodes} LEFT JOIN conductors ON conductors.id = nodes.conductor_affinity WHERE nodes.uuid IN (...)`;
      const rows = await read(database, fields, from, uuids);
      return new Map(
        rows.map(({ uuid, conductor_affinity, hostname, online, age, ...node }) => {
          const taker = { hostname, alive: isAlive(online, age) };
          return [uuid, { ...node, taker: conductor_affinity === null ? null : taker }];
        }),
      );
    },
    // A conductor would restore a power state recorded before the maintenance.
    clear: (uuid) => set("releasing a node", uuid, STAGED, null, { power_state: null }),
    // In maintenance, conductors do not update power_state, and Nova acts on a stale value.
    stage: (uuid) => set("staging a node", uuid, null, STAGED, { power_state: null }),
    service: () => readService(database, release),
  };
}

type Maintenance = string | null;

function maintenance(query: Knex.QueryBuilder, reason: Maintenance): Knex.QueryBuilder {
  return reason === null
    ? query.where({ maintenance: false })
    : query.where({ maintenance: true, maintenance_reason: reason });
}

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
