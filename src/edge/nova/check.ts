import type { Beat, BmFacts, NovaFacts } from "../../model/check.ts";
import { softDeleted } from "../database/deleted.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { integer, marks, portions, type RawRow, select, text, time } from "../database/rows.ts";
import { whole } from "../database/whole.ts";
import { readAggregates, readDeployImages } from "./check-cloud.ts";
import { novaVersion } from "./open.ts";
import { novaTexts } from "./texts.ts";

type Nodes = BmFacts["nodes"];

/**
 * What the readiness check wants of nova, but for the second look at heartbeats.
 *
 * @param nodes nova_bm's machines
 * @param held instances that Ironic's nodes have
 * @throws MigrationError N2I-E202, N2I-E203, N2I-E206
 */
export async function checkNova(
  database: Database,
  nodes: Nodes,
  held: readonly string[],
): Promise<Omit<NovaFacts, "later" | "forbidden" | "queued" | "unqueued">> {
  const { schema_version: version } = await novaVersion(database);
  const listed = listing(database);
  const claimed = spellings([...nodes.map(({ instance_uuid }) => instance_uuid), ...held]);
  const wanted = `${columns(database, ["deleted", "uuid", "host", "node", "vm_state", "task_state", "image_ref"])} FROM instances WHERE`;
  const named = await listed("instances", `${wanted} $`, "uuid", claimed);
  const placed = await listed(
    "instances",
    `${wanted} deleted = 0 AND $`,
    "node",
    spellings(nodes.map(({ uuid }) => uuid)),
  );
  // One nova-compute has one driver: all instances of its host are machines'.
  const hosts = nodes.flatMap(({ service_host }) => (service_host === null ? [] : [service_host]));
  const hosted = await listed("instances", `${wanted} deleted = 0 AND $`, "host", [
    ...new Set(hosts),
  ]);
  const instances = new Map(
    [...named, ...placed, ...hosted].map((row) => [
      text(row.uuid) ?? "",
      {
        uuid: text(row.uuid) ?? "",
        host: text(row.host),
        node: text(row.node),
        vm_state: text(row.vm_state),
        task_state: text(row.task_state),
        deleted: softDeleted(row.deleted) === true,
        image: text(row.image_ref) || null,
      },
    ]),
  );
  const ours = [...instances.keys()];
  const tables = await tableNames(database);
  return {
    version,
    instances: [...instances.values()],
    volumes: tables.has("block_device_mapping") ? await readVolumes(database, ours) : null,
    evacuations: tables.has("migrations") ? await readEvacuations(database, ours) : null,
    flavors: await readDeployImages(database),
    aggregates: await readAggregates(database),
    beats: await readBeats(database),
    texts: await novaTexts(database, ours),
  };
}

function columns({ engine }: Database, names: readonly string[]): string {
  return names.map((name) => `${whole(engine, name)} AS ${name}`).join(", ");
}

/** Rows whose column, `$` in `what`, has one of the values, whatever their number. */
type Listed = (
  table: string,
  what: string,
  column: string,
  values: readonly string[],
) => Promise<readonly RawRow[]>;

function listing(database: Database): Listed {
  return async (table, what, column, values) => {
    const found: RawRow[] = [];
    for (const some of values.length === 0 ? [] : portions(values)) {
      const sql = `SELECT ${what} IN (${marks(some)}) ORDER BY ${column}`.replace("$", column);
      found.push(
        ...(await database.run(`reading ${table}`, () =>
          select(database, database.knex, sql, some),
        )),
      );
    }
    return found;
  };
}

/** Those of the instances that have volumes. */
async function readVolumes(
  database: Database,
  instances: readonly string[],
): Promise<readonly string[]> {
  const rows = await listing(database)(
    "block_device_mapping",
    `${columns(database, ["instance_uuid"])} FROM block_device_mapping WHERE deleted = 0 AND volume_id IS NOT NULL AND $`,
    "instance_uuid",
    instances,
  );
  return [...new Set(rows.map(({ instance_uuid }) => text(instance_uuid) ?? ""))];
}

/** Null before Liberty, which brought the column: nova-compute asks no records there. */
async function readEvacuations(
  database: Database,
  instances: readonly string[],
): Promise<NovaFacts["evacuations"]> {
  if (!(await columnNames(database, "migrations")).includes("migration_type")) return null;
  const rows = await listing(database)(
    "migrations",
    `${columns(database, ["instance_uuid", "source_compute"])} FROM migrations WHERE deleted = 0 AND migration_type = 'evacuation' AND status IN ('accepted', 'pre-migrating', 'done') AND $`,
    "instance_uuid",
    instances,
  );
  return rows.map((row) => ({
    instance_uuid: text(row.instance_uuid) ?? "",
    source: text(row.source_compute) ?? "an unknown host",
  }));
}

/** What nova-compute services say of themselves now. */
export async function readBeats(database: Database): Promise<readonly Beat[]> {
  const seen = (await columnNames(database, "services")).includes("last_seen_up");
  const rows = await database.run("reading services", () =>
    select(
      database,
      database.knex,
      `SELECT id, ${whole(database.engine, "host")} AS host, report_count${seen ? ", last_seen_up" : ""} FROM services WHERE deleted = 0 AND ${database.knex.ref("binary")} = 'nova-compute' ORDER BY id`,
    ),
  );
  return rows.map((row) => ({
    id: integer(row.id) ?? 0,
    host: text(row.host) ?? "",
    report_count: integer(row.report_count),
    last_seen_up: time(row.last_seen_up),
  }));
}

/** As written and in lower case: PostgreSQL and SQLite compare exactly. */
function spellings(values: readonly (string | null)[]): readonly string[] {
  const given = values.filter((value): value is string => value !== null && value !== "");
  return [...new Set(given.flatMap((value) => [value, value.toLowerCase()]))];
}
