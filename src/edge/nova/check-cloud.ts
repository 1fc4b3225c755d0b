import type { DeployImage, NovaFacts } from "../../model/check.ts";
import { tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, select, text } from "../database/rows.ts";
import { whole } from "../database/whole.ts";

/** Where flavors are, and which rows are live: nova_api keeps no others. */
const PLACES = {
  nova: {
    ...{ flavors: "instance_types", specs: "instance_type_extra_specs", of: "instance_type_id" },
    live: "s.deleted = 0 AND (t.deleted = 0 OR EXISTS (SELECT 1 FROM instances i WHERE i.deleted = 0 AND i.instance_type_id = t.id)) AND",
  },
  nova_api: { flavors: "flavors", specs: "flavor_extra_specs", of: "flavor_id", live: "" },
} as const;

/** Deploy images of live flavors, and of deleted ones that instances have: Nova reads those too. @source facts/nova-bm.md 4.1, 4.3 */
export async function readDeployImages(
  database: Database,
  place: keyof typeof PLACES = "nova",
): Promise<readonly DeployImage[]> {
  const { engine, knex } = database;
  const { flavors, specs, of, live } = PLACES[place];
  const rows = await database.run(`reading ${specs}`, () =>
    select(
      database,
      knex,
      `SELECT s.id AS id, t.id AS flavor, ${knex.ref("s.key")} AS spec, ${whole(engine, "t.flavorid")} AS flavorid, ${whole(engine, "t.name")} AS name, ${whole(engine, "s.value")} AS value FROM ${specs} s JOIN ${flavors} t ON t.id = s.${of} WHERE ${live} ${knex.ref("s.key")} IN ('baremetal:deploy_kernel_id', 'baremetal:deploy_ramdisk_id') ORDER BY s.id`,
    ),
  );
  return rows.map((row) => ({
    steps: [
      `${specs}:${integer(row.id)}`,
      `os-extra_specs:${text(row.flavorid)}/${text(row.spec)}`,
    ],
    id: integer(row.flavor) ?? 0,
    flavor: text(row.name) ?? "without name",
    value: text(row.value),
  }));
}

/** Hosts in live aggregates: nova_api keeps no others. @source facts/nova-bm.md 5.1 */
export async function readAggregates(
  database: Database,
  place: keyof typeof PLACES = "nova",
): Promise<NovaFacts["aggregates"]> {
  const tables = await tableNames(database);
  if (!tables.has("aggregates") || !tables.has("aggregate_hosts")) return null;
  const { engine, knex } = database;
  const live = place === "nova" ? "WHERE h.deleted = 0 AND a.deleted = 0 " : "";
  const rows = await database.run("reading aggregate_hosts", () =>
    select(
      database,
      knex,
      `SELECT ${whole(engine, "h.host")} AS host, a.id AS id, ${whole(engine, "a.name")} AS name FROM aggregate_hosts h JOIN aggregates a ON a.id = h.aggregate_id ${live}ORDER BY a.id, h.host`,
    ),
  );
  return rows.map((row) => ({
    host: text(row.host) ?? "",
    id: integer(row.id) ?? 0,
    name: text(row.name) ?? `aggregate ${integer(row.id)}`,
  }));
}
