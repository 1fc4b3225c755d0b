import { isObject, type Json, objectOf } from "../../lib/json.ts";
import { BOOT_OPTIONS, type PortPlace, samePlace } from "../../model/ironic/port-place.ts";
import { put, whole } from "./neutron-port.ts";
import type { ServiceSession } from "./session.ts";
import { shown } from "./settled.ts";

export interface PlacedPort extends PortPlace {
  readonly id: string;
  readonly device_id: string;
}

/** @returns null without a port, or if this login may not see its host */
export function placedOf(port: Json): PlacedPort | null {
  if (!isObject(port) || typeof port.id !== "string") return null;
  if (typeof port["binding:host_id"] !== "string") return null;
  const said = new Map(
    (Array.isArray(port.extra_dhcp_opts) ? port.extra_dhcp_opts : [])
      .filter(isObject)
      .map((one) => [
        String(one.opt_name),
        // IPv6 options, which nova-baremetal never sets, are skipped.
        String(one.ip_version ?? 4) === "4" ? String(one.opt_value) : null,
      ]),
  );
  return {
    ...{ id: port.id, device_id: String(port.device_id ?? "") },
    host: port["binding:host_id"],
    options: Object.fromEntries(BOOT_OPTIONS.map((name) => [name, said.get(name) ?? null])),
  };
}

/** @source Neutron's API: a null value removes an option, unnamed options stay */
export function placed(
  session: ServiceSession,
  id: string,
  to: PortPlace,
  device: string,
): Promise<string | null> {
  let revision: unknown;
  const port = {
    "binding:host_id": to.host,
    extra_dhcp_opts: BOOT_OPTIONS.map((opt_name) => ({
      ...{ opt_name, opt_value: to.options[opt_name] ?? null },
    })),
  };
  return shown(
    session,
    `PUT of port ${id}`,
    async () => {
      const body = await whole(session, id);
      if (body === null) return { why: `port ${id} is not in Neutron` };
      const now = placedOf(body);
      if (now === null) return { why: `this login does not see binding:host_id of port ${id}` };
      if (now.device_id !== device)
        return { why: `port ${id} now belongs to ${now.device_id || "no device"}` };
      revision = objectOf(body).revision_number;
      return samePlace(now, to) ? "made" : "open";
    },
    () => put(session, id, port, revision),
  );
}
