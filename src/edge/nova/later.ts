import type { ApiFacts, PlacementFacts, Provider } from "../../model/check.ts";
import { embeddedFlavor } from "../../model/embedded.ts";
import { MigrationError } from "../../model/error.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, portions, type RawRow, select, text } from "../database/rows.ts";
import { readAggregates, readDeployImages } from "./check-cloud.ts";
import { apiTexts } from "./texts.ts";

/** Rows of a table whose column is one of these, in any spelling of theirs. */
async function rowsOf(
  database: Database,
  table: string,
  columns: string,
  column: string,
  values: readonly string[],
): Promise<readonly RawRow[]> {
  const spelt = [...new Set(values.flatMap((value) => [value, value.toLowerCase()]))];
  const found: RawRow[] = [];
  for (const some of spelt.length === 0 ? [] : portions(spelt))
    found.push(
      ...(await database.run(`reading ${table}`, () =>
        select(
          database,
          database.knex,
          `SELECT ${columns} FROM ${table} WHERE ${column} IN (${marks(some)})`,
          some,
        ),
      )),
    );
  return found;
}

async function needing(
  database: Database,
  option: string,
  what: string,
  tables: readonly string[],
) {
  const there = await tableNames(database);
  const missing = tables.filter((table) => !there.has(table));
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `${option} ${database.shown} is not ${what}, or its user may not read all of it: there is no ${missing.join(", ")}`,
      { fix: `Compare ${option} with the other databases.` },
    );
}

/** @throws MigrationError N2I-E202, N2I-E206 @source facts/rehearsal.md 4 */
export async function readApi(
  database: Database,
  instances: readonly string[],
): Promise<Omit<ApiFacts, "forbidden">> {
  await needing(database, "--nova-api-db", "nova's API database", ["instance_mappings"]);
  const rows = await rowsOf(
    database,
    "instance_mappings",
    "instance_uuid, cell_id",
    "instance_uuid",
    instances,
  );
  const [mapped, cellless] = [true, false].map(
    (celled) =>
      new Set(
        rows
          .filter(({ cell_id }) => (cell_id !== null) === celled)
          .map((row) => lower(row.instance_uuid)),
      ),
  ) as [Set<string>, Set<string>]; // one each
  const aggregates = await readAggregates(database, "nova_api");
  // Mitaka made the tables, and Newton reads them.
  if (!(await tableNames(database)).has("flavor_extra_specs"))
    return { mapped, cellless, aggregates, texts: [], flavors: null, flavorIds: new Set() };
  const flavors = await database.run("reading flavors", () =>
    select(database, database.knex, "SELECT id FROM flavors"),
  );
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
  const tables = ["allocations", "resource_providers"];
  await needing(database, "--placement-db", "Placement's database", tables);
  const held =
    "allocations LEFT JOIN resource_providers p ON p.id = allocations.resource_provider_id";
  const rows = await rowsOf(
    database,
    held,
    "consumer_id, p.uuid, p.name",
    "consumer_id",
    instances,
  );
  const allocated = new Map<string, Provider[]>();
  for (const row of rows) {
    const consumer = lower(row.consumer_id);
    const provider = { uuid: lower(row.uuid), name: lower(row.name) };
    allocated.set(consumer, [...(allocated.get(consumer) ?? []), provider]);
  }
  const named = await rowsOf(database, "resource_providers", "uuid, name", "name", machines);
  return {
    allocated,
    providers: named.map((row) => ({ uuid: lower(row.uuid), name: lower(row.name) })),
  };
}

/** Machine, in lower case -> the custom class its provider has; one that has several is left out. */
export async function readClasses(database: Database): Promise<ReadonlyMap<string, string>> {
  const tables = ["inventories", "resource_providers", "resource_classes"];
  await needing(database, "--placement-db", "Placement's database", tables);
  const rows = await database.run("reading inventories", () =>
    select(
      database,
      database.knex,
      "SELECT p.name AS provider, c.name AS class FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id JOIN resource_classes c ON c.id = i.resource_class_id WHERE c.name LIKE 'CUSTOM%' ORDER BY p.name, c.name",
    ),
  );
  const classes = new Map<string, string>();
  const several = new Set<string>();
  for (const row of rows) {
    const provider = lower(row.provider);
    if (classes.has(provider)) several.add(provider);
    classes.set(provider, String(row.class));
  }
  for (const provider of several) classes.delete(provider);
  return classes;
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

function lower(value: unknown): string {
  return (text(value) ?? "").toLowerCase();
}
