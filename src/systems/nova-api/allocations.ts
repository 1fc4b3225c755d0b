import { isObject, type JsonObject, objectOf } from "../../lib/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { PLACEMENT } from "../openstack/kinds.ts";
import { type Answer, ask, openSession } from "../openstack/session.ts";
import { type CallState, settledOnce } from "../openstack/settled.ts";

/** First with consumer_generation (Rocky). @source placement: rest_api_version_history.rst */
const VERSION = "1.28";

/** @param limit milliseconds per call @throws MigrationError N2I-E106, N2I-E210 to N2I-E212 */
export async function openServerAllocations(cloud: Cloud, limit: number) {
  const session = (await openSession(cloud, limit, PLACEMENT)).at(VERSION);
  const read = async (server: string): Promise<JsonObject> =>
    objectOf(await ask(session, `/allocations/${server}`));
  const stateOf = async (server: string, from: string, to: string): Promise<CallState> => {
    const has = Object.keys(objectOf((await read(server)).allocations));
    const [first, ...more] = has;
    if (more.length === 0 && first === to) return "made";
    if (more.length === 0 && first === from) return "open";
    return { reason: `Placement has server ${server} on ${has.join(", ") || "no provider"}` };
  };
  /** Nova's resource tracker reserves a node in use, which prevents allocations. */
  async function offered(node: string, resources: JsonObject): Promise<Answer | null> {
    for (const name of Object.keys(resources)) {
      const path = `/resource_providers/${node}/inventories/${name}`;
      const inventory = objectOf(await ask(session, path));
      if (inventory.reserved === 0) continue;
      const body = { ...inventory, reserved: 0 };
      const answer = await session.call({ method: "PUT", path, body });
      if (answer.status >= 300 || answer.status === 0) return answer;
    }
    return null;
  }
  return {
    close: session.close,
    /** Whether the server's only node is one of these. */
    stateOf,
    /** @returns null, or the reason of the refusal */
    move: (server: string, from: string, to: string) =>
      settledOnce(
        session,
        `PUT of the allocations of ${server}`,
        () => stateOf(server, from, to),
        async () => {
          const { allocations, project_id, user_id, consumer_generation } = await read(server);
          const { resources } = objectOf(objectOf(allocations)[from]);
          const refused = await offered(to, objectOf(resources));
          if (refused !== null) return refused;
          const body = {
            allocations: { [to]: { resources } },
            ...{ project_id, user_id, consumer_generation },
          };
          return session.call({ method: "PUT", path: `/allocations/${server}`, body });
        },
      ),
  };
}

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
