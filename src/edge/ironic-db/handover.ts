import type { Knex } from "knex";
import { type Handover, type ObservedNode, STAGED } from "../../model/handover.ts";
import type { Release } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { ageOf, askIn, boolean, columnList, integer, type RawRow, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";
import { isAlive, readService } from "./service.ts";

const COLUMNS = [
  ...["uuid", "provision_state", "maintenance", "maintenance_reason"],
  ...["conductor_affinity", "reservation", "last_error", "power_state"],
];

/**
 * The hand-over by Ironic's own database. Each change is one statement that changes the row only
 * while it is as expected and no conductor has reserved it: conductors read it anew at every turn.
 *
 * @source facts/ironic.md 0.1, 1.5, 2.2; facts/rehearsal.md 3
 */
export function createHandover(database: Database, release: Release): Handover {
  const { node } = release;
  // Juno keeps no reason of a maintenance.
  const has = (column: string): boolean => node.some(({ name }) => name === column);
  const { engine } = database;
  const columns = [
    columnList(database, COLUMNS.filter(has), "nodes"),
    columnList(database, ["hostname"], "conductors"),
    `conductors.online, ${ageOf(engine, "conductors.updated_at")} AS age`,
  ].join(", ");
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
      const sql = `SELECT ${columns} FROM nodes LEFT JOIN conductors ON conductors.id = nodes.conductor_affinity WHERE nodes.uuid IN (...)`;
      const rows = await askIn(database, "observing nodes", sql, uuids);
      return new Map(rows.map((row) => [text(row.uuid) ?? "", observed(row)]));
    },
    // A power state recorded before the maintenance is old: a conductor would drive the machine to it.
    clear: (uuid) => set("releasing a node", uuid, STAGED, null, { power_state: null }),
    // In maintenance nobody reads it again, and Nova goes by it: it switched running machines off.
    stage: (uuid) => set("staging a node", uuid, null, STAGED, { power_state: null }),
    service: () => readService(database, release),
  };
}

/** The reason of a maintenance; null: there is none. */
type Maintenance = string | null;

function maintenance(query: Knex.QueryBuilder, reason: Maintenance): Knex.QueryBuilder {
  return reason === null
    ? query.where({ maintenance: false })
    : query.where({ maintenance: true, maintenance_reason: reason });
}

function observed(row: RawRow): ObservedNode {
  return {
    provision_state: text(row.provision_state),
    maintenance: boolean(row.maintenance) === true,
    maintenance_reason: text(row.maintenance_reason),
    taker:
      integer(row.conductor_affinity) === null
        ? null
        : { hostname: text(row.hostname), alive: isAlive(row) },
    reservation: text(row.reservation),
    last_error: text(row.last_error),
    power_state: text(row.power_state),
  };
}
