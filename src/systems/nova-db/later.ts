import { grouped } from "../../lib/grouped.ts";
import type { ApiFacts } from "../../model/check.ts";
import { embeddedFlavor } from "../../model/nova/embedded.ts";
import { createTextSet } from "../../model/rows.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, needTables, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { read, sql, valuesBy } from "../database/read.ts";
import { integer, lower, number, spellings, string, text } from "../database/rows.ts";
import { readAggregates } from "./check.ts";
import { readDeployImages } from "./flavors.ts";

const API = {
  ...{ option: "--nova-api-db", what: "nova's API database" },
  fix: "Compare --nova-api-db with the other databases.",
};

const PLACEMENT = {
  ...{ option: "--placement-db", what: "Placement's database" },
  fix: "Compare --placement-db with the other databases.",
};

/** @throws MigrationError N2I-E202, N2I-E206 @source facts/rehearsal.md 4 */
export async function readApi(
  database: Database,
  instances: readonly string[],
): Promise<Omit<ApiFacts, "forbidden">> {
  const tables = await needTables(database, API, ["instance_mappings"]);
  const mapping = { instance_uuid: lower, cell_id: integer };
  const from = "{instance_mappings.instance_uuid} WHERE instance_uuid IN (...)";
  const [mapped, cellless] = [createTextSet(), createTextSet()];
  for (const { instance_uuid, cell_id } of await read(
    database,
    mapping,
    from,
    spellings(instances),
  ))
    (cell_id === null ? cellless : mapped).add(instance_uuid);
  const aggregates = await readAggregates(database, "nova_api");
  // Mitaka created the tables, Newton uses them.
  if (!tables.has("flavor_extra_specs"))
    return { mapped, cellless, aggregates, flavors: null, flavorIds: new Set() };
  const flavors = await read(database, { id: number }, "flavors");
  return {
    ...{ mapped, cellless, aggregates },
    flavors: await readDeployImages(database, "nova_api"),
    flavorIds: new Set(flavors.map(({ id }) => id)),
  };
}

/** @throws MigrationError N2I-E202, N2I-E206 @source facts/rehearsal.md 4 */
export async function readPlacement(
  database: Database,
  instances: readonly string[],
  machines: readonly string[],
) {
  await needTables(database, PLACEMENT, ["allocations", "resource_providers"]);
  const rows = await read(
    database,
    { consumer: sql("consumer_id", lower), uuid: sql("p.uuid", lower), name: sql("p.name", lower) },
    "{allocations.consumer_id} LEFT JOIN resource_providers p ON p.id = allocations.resource_provider_id WHERE consumer_id IN (...)",
    spellings(instances),
  );
  const byName = "{resource_providers.name} WHERE name IN (...)";
  return {
    allocated: grouped(rows, ({ consumer }) => consumer),
    providers: await read(database, { uuid: lower, name: lower }, byName, spellings(machines)),
  };
}

/** Custom resource class by lower-case machine. Machines with several classes are skipped. */
export async function readClasses(database: Database): Promise<ReadonlyMap<string, string>> {
  const needed = ["inventories", "resource_providers", "resource_classes"];
  await needTables(database, PLACEMENT, needed);
  const rows = await read(
    database,
    { provider: sql("p.name", lower), custom: sql("c.name", string) },
    "inventories i JOIN resource_providers p ON p.id = i.resource_provider_id JOIN resource_classes c ON c.id = i.resource_class_id WHERE c.name LIKE 'CUSTOM%' ORDER BY p.name, c.name",
  );
  return new Map(
    [...valuesBy(rows, "provider", "custom")].flatMap(([provider, [only = "", ...rest]]) =>
      rest.length === 0 ? [[provider, only] as const] : [],
    ),
  );
}

/**
 * Uuid of the live compute node by machine. Empty before Mitaka, null if the table is unreadable.
 */
export async function readComputeUuids(
  database: Database,
  machines: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  if (!(await tableNames(database)).has("compute_nodes")) return null;
  if (!(await columnNames(database, "compute_nodes")).includes("uuid")) return new Map();
  const rows = await read(
    database,
    { machine: sql("hypervisor_hostname", lower), uuid: text, deleted: softDeleted },
    "compute_nodes WHERE hypervisor_hostname IN (...)",
    spellings(machines),
  );
  return new Map(
    rows.flatMap(({ machine, uuid, deleted }) =>
      deleted === false && uuid !== null ? [[machine, uuid.toLowerCase()] as const] : [],
    ),
  );
}

/**
 * Instances whose allocation needs a resource class that the embedded flavor does not request.
 *
 * @source facts/ironic.md 5.3
 */
export async function readClassless(
  database: Database,
  instances: readonly string[],
): Promise<ReadonlySet<string>> {
  const tables = await tableNames(database);
  if (!tables.has("instance_extra")) return new Set();
  if (!(await columnNames(database, "instance_extra")).includes("flavor")) return new Set();
  const copy = { instance: sql("instance_uuid", lower), flavor: text };
  const from = "{instance_extra.instance_uuid} WHERE instance_uuid IN (...)";
  const rows = await read(database, copy, from, spellings(instances));
  return new Set(
    rows.flatMap(({ instance, flavor: text }) => {
      const flavor = embeddedFlavor(text);
      const specKeys = Object.keys(flavor?.extra_specs ?? {});
      return flavor === null || specKeys.some((key) => key.startsWith("resources:CUSTOM_"))
        ? []
        : [instance];
    }),
  );
}
