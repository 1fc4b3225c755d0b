import { orNull } from "../../lib/error.ts";
import { isObject, objectOf } from "../../lib/json.ts";
import { ask, type ServiceSession } from "../openstack/session.ts";

/**
 * @returns null if this login may not list them
 * @throws MigrationError N2I-E210, N2I-E212
 * @source nova 26: api/openstack/compute/availability_zone.py; the default policy permits everyone
 */
export async function readZones(
  session: ServiceSession,
): Promise<ReadonlyMap<string, boolean> | null> {
  const body = await orNull(ask(session, "/os-availability-zone"), "N2I-E211");
  const { availabilityZoneInfo: all } = objectOf(body);
  if (!Array.isArray(all)) return null;
  return new Map(
    all
      .filter(isObject)
      .map(({ zoneName, zoneState }) => [String(zoneName), objectOf(zoneState).available === true]),
  );
}
