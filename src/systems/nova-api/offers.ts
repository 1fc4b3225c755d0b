import { isObject, objectOf } from "../../lib/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { PLACEMENT } from "../openstack/kinds.ts";
import { ask, openSession } from "../openstack/session.ts";

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openOffers(cloud: Cloud, limit: number) {
  const session = await openSession(cloud, limit, PLACEMENT);
  return {
    /** @param inventory class: `CUSTOM_GOLD` */
    async of(node: string, inventory: string) {
      const body = await ask(session, `/resource_providers/${node}/inventories`);
      const all = objectOf(objectOf(body).inventories);
      const entry = all[inventory];
      if (!isObject(entry)) return null;
      const totals = new Map(
        Object.entries(all).map(([name, one]) => [name, Number(objectOf(one).total ?? 0)]),
      );
      // Nova's resource tracker reserves a node that is in use or unusable.
      return { total: Number(entry.total ?? 0), reserved: Number(entry.reserved ?? 0), totals };
    },
    /** Includes servers before their build. */
    async claims(node: string) {
      const body = await ask(session, `/resource_providers/${node}/allocations`);
      return Object.keys(objectOf(objectOf(body).allocations));
    },
    close: session.close,
  };
}
