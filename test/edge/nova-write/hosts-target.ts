import type { TestContext } from "node:test";
import { identifyNova } from "../../../src/edge/nova-write/open.ts";
import { createNovaTarget } from "../../../src/edge/nova-write/target.ts";
import type { Engine } from "../../../src/model/database.ts";
import { loadHosts } from "../../hosts/cloud.ts";
import { withDatabase } from "../../lab/index.ts";
import { open } from "../../support/planned-case.ts";

/** Machines with a tenant each on H1, in a Nova that is open to be written; null where there is no such server. */
export async function hostsTarget(engine: Engine, machines: number, t: TestContext) {
  const place = await withDatabase(engine, t);
  await loadHosts(place.db, engine, { machines, tenants: true });
  const database = await open("env:DB", false, { DB: place.url });
  t.after(() => database.close());
  return {
    db: place.db,
    database,
    target: createNovaTarget(database, await identifyNova(database)),
  };
}
