import type { ApiFacts, PlacementFacts, Provider } from "../../model/check.ts";
import { embeddedFlavor } from "../../model/embedded.ts";
import { groupedBy } from "../../model/grouped.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, needTables, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { ask, askIn, integer, lower, type RawRow, spellings, text } from "../database/rows.ts";
import { apiTexts, readAggregates } from "./check.ts";
import { readDeployImages } from "./flavors.ts";

/** Rows of a table whose column is one of these, in any spelling of theirs. */
function rowsOf(
  database: Database,
  table: string,
  columns: string,
  column: string,
  values: readonly string[],
): Promise<readonly RawRow[]> {
  const sql = `SELECT ${columns} FROM ${table} WHERE ${column} IN (...)`;
  return askIn(database, `reading ${table}`, sql, spellings(values));
}

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
  const what = "instance_uuid, cell_id";
  const rows = await rowsOf(database, "instance_mappings", what, "instance_uuid", instances);
  const mappedIn = (inCell: boolean): ReadonlySet<string> => {
    const some = rows.filter(({ cell_id }) => (cell_id !== null) === inCell);
    return new Set(some.map((row) => lower(row.instance_uuid)));
  };
  const [mapped, cellless] = [mappedIn(true), mappedIn(false)];
  const aggregates = await readAggregates(database, "nova_api");
  // Mitaka made the tables, and Newton reads them.
  if (!tables.has("flavor_extra_specs"))
    return { mapped, cellless, aggregates, texts: [], flavors: null, flavorIds: new Set() };
  const flavors = await ask(database, "reading flavors", "SELECT id FROM flavors");
  return {
    ...{ mapped, cellless, aggregates },
    texts: await apiTexts(database),
    flavors: await readDeployImages(database, "nova_api"),
    flavorIds: new Set(flavors.map(({ id }) => integer(id) ?? 0)),
  };
}

/** @throws MigrationError N2I-E202, N2I-E206 @source facts/rehearsal.md 4 */
export async function readPlacement(
  database: Database,
  instances: readonly string[],
  machines: readonly string[],
): Promise<PlacementFacts> {
  await needTables(database, PLACEMENT, ["allocations", "resource_providers"]);
  const held =
    "allocations LEFT JOIN resource_providers p ON p.id = allocations.resource_provider_id";
  const what = "consumer_id, p.uuid, p.name";
  const rows = await rowsOf(database, held, what, "consumer_id", instances);
  const allocated = groupedBy(rows, (row) => lower(row.consumer_id), providerOf);
  const named = await rowsOf(database, "resource_providers", "uuid, name", "name", machines);
  return { allocated, providers: named.map(providerOf) };
}

/** Machine, in lower case -> the custom class its provider has; one that has several is left out. */
export async function readClasses(database: Database): Promise<ReadonlyMap<string, string>> {
  const needed = ["inventories", "resource_providers", "resource_classes"];
  await needTables(database, PLACEMENT, needed);
  const sql =
    "SELECT p.name AS provider, c.name AS class FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id JOIN resource_classes c ON c.id = i.resource_class_id WHERE c.name LIKE 'CUSTOM%' ORDER BY p.name, c.name";
  const rows = await ask(database, "reading inventories", sql);
  const named = groupedBy(
    rows,
    (row) => lower(row.provider),
    (row) => String(row.class),
  );
  return new Map(
    [...named].flatMap(([provider, [only = "", ...others]]) =>
      others.length === 0 ? [[provider, only] as const] : [],
    ),
  );
}

/**
 * Machine -> uuid of its live compute node; empty where Nova is older than the column (Mitaka), null
 * where its table may not be read.
 */
export async function readComputeUuids(
  database: Database,
  machines: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  if (!(await tableNames(database)).has("compute_nodes")) return null;
  if (!(await columnNames(database, "compute_nodes")).includes("uuid")) return new Map();
  const rows = await rowsOf(
    database,
    "compute_nodes",
    "hypervisor_hostname, uuid, deleted",
    "hypervisor_hostname",
    machines,
  );
  return new Map(
    rows
      .filter((row) => softDeleted(row.deleted) === false && row.uuid !== null)
      .map((row) => [lower(row.hypervisor_hostname), lower(row.uuid)]),
  );
}

/**
 * Instances whose embedded flavor wants no resource class, by which their allocation would be made.
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
  const what = "instance_uuid, flavor";
  const rows = await rowsOf(database, "instance_extra", what, "instance_uuid", instances);
  return new Set(
    rows.flatMap((row) => {
      const flavor = embeddedFlavor(text(row.flavor));
      const wants = Object.keys(flavor?.extra_specs ?? {});
      return flavor === null || wants.some((key) => key.startsWith("resources:CUSTOM_"))
        ? []
        : [lower(row.instance_uuid)];
    }),
  );
}

function providerOf(row: RawRow): Provider {
  return { uuid: lower(row.uuid), name: lower(row.name) };
}
