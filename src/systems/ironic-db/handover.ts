import { parsedJson } from "../../lib/json.ts";
import { type Guard, type Handover, STAGED } from "../../model/handover.ts";
import { HEARTBEAT, type Service } from "../../model/ironic/service.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { read, sql } from "../database/read.ts";
import { ageOf, ask, boolean, integer, isTrue, lower, string, text } from "../database/rows.ts";
import { writing } from "../database/write.ts";

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
  return {
    async observe(uuids) {
      const from =
        "{nodes.uuid} LEFT JOIN conductors ON conductors.id = nodes.conductor_affinity WHERE nodes.uuid IN (...)";
      const rows = await read(database, fields, from, uuids);
      return new Map(
        rows.map(({ uuid, conductor_affinity, hostname, online, age, ...node }) => {
          const taker = { hostname, alive: isAlive(online, age) };
          return [uuid, { ...node, taker: conductor_affinity === null ? null : taker }];
        }),
      );
    },
    // A conductor would restore a power state recorded before the maintenance.
    clear: (uuid) => update(database, "releasing a node", { uuid, ...STAGED_NODE }, RELEASED),
    // In maintenance, conductors do not update power_state, and Nova acts on a stale value.
    stage: (uuid) => update(database, "staging a node", { uuid, maintenance: false }, STAGING),
    service: () => readService(database, release),
  };
}

const STAGED_NODE = { maintenance: true, maintenance_reason: STAGED };
const STAGING = { ...STAGED_NODE, power_state: null };
const RELEASED = { maintenance: false, maintenance_reason: null, power_state: null };

/** Only if the node is as expected and no conductor has reserved it. @returns whether it was */
function update(
  database: Database,
  doing: string,
  expected: Readonly<Record<string, string | boolean | null>>,
  change: object,
): Promise<boolean> {
  return writing(database, (trx) =>
    database.run(doing, async () => {
      const query = trx("nodes").where(expected).whereNull("reservation");
      const changed: number = await query.update(change);
      return changed === 1;
    }),
  );
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
      const rows = await read(database, fields, "{nodes.uuid} WHERE uuid IN (...)", uuids);
      return new Map(rows.map(({ uuid, ...node }) => [uuid, node]));
    },
    async write(uuid, expected, change) {
      const unchanged = Object.fromEntries(guards.map((name) => [name, expected[name]]));
      const doing = "changing a node's protection";
      return (await update(database, doing, { uuid, ...unchanged }, change)) ? "done" : "again";
    },
  };
}

const RESERVED = 1000;

const INTERFACE = {
  ...{ conductor: sql("conductor_id", integer), driver: sql("hardware_type", string) },
  ...{ type: sql("interface_type", string), name: sql("interface_name", string) },
  default: isTrue,
};

/** @source facts/ironic.md 1.5 */
export async function readService(database: Database, { node }: Release): Promise<Service> {
  const conductors = await ask(
    database,
    "reading conductors",
    `SELECT conductors.*, ${ageOf(database.engine, "conductors.updated_at")} AS age FROM conductors ORDER BY hostname`,
  );
  const hasTypes = node.some(({ name }) => name === "deploy_interface");
  const interfaces = hasTypes
    ? await read(database, INTERFACE, "conductor_hardware_interfaces")
    : null;
  const hosts = new Map(conductors.map((row) => [integer(row.id), string(row.hostname)]));
  return {
    conductors: conductors.map((row) => ({
      hostname: string(row.hostname),
      group: lower(row.conductor_group),
      alive: isAlive(isTrue(row.online), integer(row.age)),
      drivers: driversOf(text(row.drivers)),
    })),
    interfaces:
      interfaces?.map(({ conductor, default: isDefault, ...one }) => ({
        hostname: hosts.get(conductor) ?? "",
        ...{ ...one, isDefault },
      })) ?? null,
    reserved: await read(
      database,
      { uuid: string, by: sql("reservation", string) },
      `nodes WHERE reservation IS NOT NULL ORDER BY id LIMIT ${RESERVED}`,
    ),
  };
}

/** Ironic's own rule. @param age seconds since the last heartbeat */
function isAlive(online: boolean, age: number | null): boolean {
  return online && (age ?? HEARTBEAT) < HEARTBEAT;
}

function driversOf(json: string | null): readonly string[] {
  const list = parsedJson(json ?? "");
  return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
}
