import { parsedJson } from "../../model/json.ts";
import { HEARTBEAT, type Service } from "../../model/service.ts";
import type { Release } from "../../model/target.ts";
import type { Database } from "../database/open.ts";
import { ageOf, ask, boolean, integer, type RawRow, text } from "../database/rows.ts";

const RESERVED = 1000;

/**
 * What the conductors wrote of themselves, running or not.
 *
 * @source facts/ironic.md 1.5
 */
export async function readService(database: Database, { node }: Release): Promise<Service> {
  const conductors = await ask(
    database,
    "reading conductors",
    `SELECT conductors.*, ${ageOf(database.engine, "conductors.updated_at")} AS age FROM conductors ORDER BY hostname`,
  );
  const hasTypes = node.some(({ name }) => name === "deploy_interface");
  const interfaces = hasTypes
    ? await ask(
        database,
        "reading conductor_hardware_interfaces",
        // By no name: each engine quotes `default` otherwise.
        "SELECT * FROM conductor_hardware_interfaces",
      )
    : null;
  const reserved = await ask(
    database,
    "reading reservations",
    `SELECT uuid, reservation FROM nodes WHERE reservation IS NOT NULL ORDER BY id LIMIT ${RESERVED}`,
  );
  const hosts = new Map(conductors.map((row) => [integer(row.id), text(row.hostname) ?? ""]));
  return {
    conductors: conductors.map((row) => ({
      hostname: text(row.hostname) ?? "",
      group: (text(row.conductor_group) ?? "").toLowerCase(),
      alive: isAlive(row),
      drivers: driversOf(text(row.drivers)),
    })),
    interfaces:
      interfaces?.map((row) => ({
        hostname: hosts.get(integer(row.conductor_id)) ?? "",
        driver: text(row.hardware_type) ?? "",
        type: text(row.interface_type) ?? "",
        name: text(row.interface_name) ?? "",
        isDefault: boolean(row.default) === true,
      })) ?? null,
    reserved: reserved.map(({ uuid, reservation }) => ({
      uuid: text(uuid) ?? "",
      by: text(reservation) ?? "",
    })),
  };
}

/** Of `online` and `age`, as ironic itself goes by them. */
export function isAlive({ online, age }: RawRow): boolean {
  return boolean(online) === true && (integer(age) ?? HEARTBEAT) < HEARTBEAT;
}

/** A JSON list; what is none says nothing. */
function driversOf(json: string | null): readonly string[] {
  const list = parsedJson(json ?? "");
  return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
}
