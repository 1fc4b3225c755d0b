import { parsedJson } from "../../lib/json.ts";
import { HEARTBEAT, type Service } from "../../model/ironic/service.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { read, sql } from "../database/read.ts";
import { ageOf, ask, integer, isTrue, lower, string, text } from "../database/rows.ts";

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
export function isAlive(online: boolean, age: number | null): boolean {
  return online && (age ?? HEARTBEAT) < HEARTBEAT;
}

function driversOf(json: string | null): readonly string[] {
  const list = parsedJson(json ?? "");
  return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
}
