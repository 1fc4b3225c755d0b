import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { Conductor, EnabledInterface, Service } from "../../model/ironic/service.ts";
import { listed, pages } from "./body.ts";
import type { RestService } from "./service.ts";

/** Listing conductors requires system-wide read access. @source facts/ironic.md 4.1 */
const INTERFACES = 31;
export const CONDUCTORS = 49;
const RESERVED = 1000;

/** The conductors that could take over. Before 1.49 only live ones are listed, without groups. */
export async function readConductors(service: RestService): Promise<Service> {
  const types = service.minor >= INTERFACES;
  const listing = await service.ask(`/v1/drivers${types ? "?detail=True" : ""}`);
  const drivers = listed(listing, "drivers").filter(isObject);
  const hosts = drivers.flatMap((driver) => (Array.isArray(driver.hosts) ? driver.hosts : []));
  const reported: readonly JsonObject[] =
    service.minor < CONDUCTORS
      ? [...new Set(hosts.map(String))].map((hostname) => ({ hostname, alive: true }))
      : listed(await service.ask("/v1/conductors?detail=True"), "conductors").filter(isObject);
  const reserved: { uuid: string; by: string }[] = [];
  for await (const page of pages(service, "nodes", "&fields=uuid,reservation"))
    for (const { uuid, reservation } of page.filter(isObject))
      if (typeof reservation === "string" && reserved.length < RESERVED)
        reserved.push({ uuid: String(uuid), by: reservation });
  const conductors = reported.map(
    ({ hostname, conductor_group, alive, drivers: names }): Conductor => ({
      hostname: String(hostname),
      group: typeof conductor_group === "string" ? conductor_group.toLowerCase() : null,
      alive: alive === true,
      // The driver list of a dead conductor is meaningless.
      drivers: Array.isArray(names)
        ? names.map((name: Json) => String(name))
        : drivers.flatMap(({ name, hosts }) =>
            Array.isArray(hosts) && hosts.includes(String(hostname)) ? [String(name)] : [],
          ),
    }),
  );
  return { conductors, interfaces: types ? drivers.flatMap(enabledOf) : null, reserved };
}

/** `enabled_boot_interfaces` etc. of a hardware type. A classic driver has none. */
function enabledOf(driver: JsonObject): readonly EnabledInterface[] {
  return Object.entries(driver).flatMap(([key, names]) => {
    const [, type] = /^enabled_(\w+)_interfaces$/.exec(key) ?? [];
    if (type === undefined || !Array.isArray(names)) return [];
    return names.map((name: Json) => ({
      ...{ hostname: null, driver: String(driver.name) },
      ...{ type, name: String(name) },
    }));
  });
}
