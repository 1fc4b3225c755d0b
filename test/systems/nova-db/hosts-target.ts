import type { TestContext } from "node:test";
import type { Engine } from "../../../src/model/database.ts";
import { identifyNova } from "../../../src/systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../../src/systems/nova-db/target.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { loadHosts } from "../../takeover/cloud.ts";

/** Machines with a tenant each on H1, in a Nova that is open to be written. */
export async function hostsTarget(engine: Engine, machines: number, t: TestContext) {
  const place = await withDatabase(engine, t);
  await loadHosts(place.db, engine, { machines, tenants: true });
  const database = await openedAt(place.url, t);
  return {
    db: place.db,
    database,
    target: createNovaTarget(database, await identifyNova(database)),
  };
}
