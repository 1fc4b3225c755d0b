import { isObject, objectOf } from "../../lib/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { PLACEMENT } from "../openstack/kinds.ts";
import { ask, openSession } from "../openstack/session.ts";

interface Offer {
  readonly total: number;
  /** Nova's resource tracker reserves a node that is in use or unusable. */
  readonly reserved: number;
  readonly totals: ReadonlyMap<string, number>;
}

export interface Offers {
  /** @param inventory class: `CUSTOM_GOLD` @throws MigrationError N2I-E210 to N2I-E212 */
  readonly of: (node: string, inventory: string) => Promise<Offer | null>;
  /** Includes servers before their build. @throws MigrationError N2I-E210 to N2I-E212 */
  readonly claims: (node: string) => Promise<readonly string[]>;
  readonly close: () => void;
}

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openOffers(cloud: Cloud, limit: number): Promise<Offers> {
  const session = await openSession(cloud, limit, PLACEMENT);
  return {
    async of(node, inventory) {
      const body = await ask(session, `/resource_providers/${node}/inventories`);
      const all = objectOf(objectOf(body).inventories);
      const own = all[inventory];
      if (!isObject(own)) return null;
      const totals = new Map(
        Object.entries(all).map(([name, one]) => [name, Number(objectOf(one).total ?? 0)]),
      );
      return { total: Number(own.total ?? 0), reserved: Number(own.reserved ?? 0), totals };
    },
    async claims(node) {
      const body = await ask(session, `/resource_providers/${node}/allocations`);
      return Object.keys(objectOf(objectOf(body).allocations));
    },
    close: session.close,
  };
}
