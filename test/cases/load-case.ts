import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { Knex } from "knex";
import type { Json } from "../../src/lib/json.ts";
import type { Engine } from "../../src/model/database.ts";
import type { Tables } from "../../src/model/mapping.ts";
import { loadTables } from "../../src/run/files/load-tables.ts";
import { createTables } from "../../src/systems/database/create-tables.ts";
import {
  baseInstance,
  baseInterface,
  baseNode,
  type Case,
  type CaseRow,
  caseUuid,
} from "./case.ts";

const CHUNK = 50;

/** SQLite files with empty tables, reused because a process often builds the same tables. */
const built = new WeakMap<Tables, Buffer>();

async function create(db: Knex, tables: Tables, engine: Engine, charset?: string): Promise<void> {
  if (engine !== "sqlite") return createTables(db, tables, { engine, charset });
  const { filename } = db.client.config.connection;
  const bytes = built.get(tables);
  const empty = (statSync(filename, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (bytes !== undefined && empty) return writeFileSync(filename, bytes, { mode: 0o600 });
  await createTables(db, tables, { engine });
  if (empty) built.set(tables, readFileSync(filename));
}

/** Inserts rows without the columns that the schema version does not have. */
type Insert = (table: string, rows: readonly CaseRow[]) => Promise<void>;

/** @param more additional columns, by table */
function insertInto(
  db: Knex,
  { tables }: Tables,
  more: { readonly [table: string]: object } = {},
): Insert {
  return (table, rows) => {
    const columns = (tables[table]?.columns ?? []).map(({ name }) => name);
    return insert(db, table, [...columns, ...Object.keys(more[table] ?? {})], rows);
  };
}

async function insert(
  db: Knex,
  table: string,
  columns: readonly string[],
  rows: readonly CaseRow[],
): Promise<void> {
  const fitting = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([name]) => columns.includes(name))
        .map(([name, value]) => [name, cell(value)]),
    ),
  );
  // PostgreSQL needs the same columns in all rows of an insert.
  const names = [...new Set(fitting.flatMap((row) => Object.keys(row)))];
  const whole = fitting.map((row) =>
    Object.fromEntries(names.map((name) => [name, row[name] ?? null])),
  );
  for (let at = 0; at < whole.length; at += CHUNK)
    await db(table).insert(whole.slice(at, at + CHUNK));
}

function cell(value: Json): string | number | boolean | null {
  return typeof value === "object" && value !== null
    ? JSON.stringify(value)
    : (value as string | number | boolean | null);
}

function nodesOf(given: Case): readonly CaseRow[] {
  return given.nova_bm.nodes.map(baseNode);
}

function interfacesOf(given: Case): readonly CaseRow[] {
  const rows =
    given.nova_bm.interfaces ??
    nodesOf(given).map(({ id, instance_uuid }) => ({
      bm_node_id: id ?? null,
      vif_uuid: instance_uuid ? caseUuid("vif", Number(id)) : null,
    }));
  return rows.map((row, at) => baseInterface({ id: at + 1, ...row }));
}

export async function loadNovaBm(
  db: Knex,
  engine: Engine,
  given: Case,
  charset?: string,
): Promise<void> {
  const tables = loadTables("nova_bm", given.nova_bm.version ?? 10);
  await create(db, tables, engine, charset);
  for (const [table, columns] of Object.entries(given.nova_bm.columns ?? {}))
    for (const [name, type] of Object.entries(columns))
      await db.schema.alterTable(table, (builder) => {
        builder.specificType(name, type);
      });
  const add = insertInto(db, tables, given.nova_bm.columns);
  await add("bm_nodes", nodesOf(given));
  await add("bm_interfaces", interfacesOf(given));
  for (const [table, rows] of Object.entries(given.nova_bm.more ?? {})) await add(table, rows);
}

const FLAVOR: CaseRow = {
  id: 1,
  name: "baremetal",
  flavorid: "11",
  memory_mb: 49152,
  vcpus: 8,
  swap: 0,
  root_gb: 40,
  ephemeral_gb: 0,
  rxtx_factor: 1,
  disabled: false,
  is_public: true,
  deleted: 0,
};

/** Builds nova for the case. Missing rows are generated from nova_bm. */
export async function loadNova(
  db: Knex,
  engine: Engine,
  given: Case,
  charset?: string,
): Promise<void> {
  const nova = given.nova ?? {};
  const tables = loadTables("nova", nova.version ?? 254);
  await create(db, tables, engine, charset);
  const add = insertInto(db, tables);
  const nodes = nodesOf(given);
  const used = nodes.filter(({ instance_uuid }) => typeof instance_uuid === "string");
  const said = new Map((nova.instances ?? []).map((row) => [String(row.uuid), row]));
  const instances =
    nova.instances === undefined
      ? used.map(baseInstance)
      : [...said.values()].map((row) => {
          const node = nodes.find(({ instance_uuid }) => instance_uuid === row.uuid);
          return { ...baseInstance(node ?? { id: 900 + said.size }), ...row };
        });
  await add("instance_types", nova.flavors ?? [FLAVOR]);
  await add(
    "instance_type_extra_specs",
    nova.extra_specs ?? [
      { id: 1, instance_type_id: 1, key: "cpu_arch", value: "x86_64", deleted: 0 },
    ],
  );
  await add("instances", instances);
  await add("instance_system_metadata", nova.system_metadata ?? []);
  const interfaces = interfacesOf(given);
  await add(
    "instance_info_caches",
    nova.info_caches ?? instances.map((row) => cacheOf(row, used, interfaces)),
  );
  const hosts: readonly Json[] = [...new Set(nodes.map(({ service_host }) => service_host))].filter(
    (host): host is string => typeof host === "string",
  );
  await add("services", nova.services ?? hosts.map(serviceOn));
  /** The service of the host if services are generated, otherwise the first one. */
  const serviceOf = ({ service_host = null }: CaseRow): number =>
    Math.max(1, nova.services === undefined ? hosts.indexOf(service_host) + 1 : 1);
  await add(
    "compute_nodes",
    nova.compute_nodes ?? nodes.map((node) => computeOf(node, serviceOf(node))),
  );
  for (const [table, rows] of Object.entries(nova.more ?? {})) await add(table, rows);
  if (engine === "postgresql") await count(db, "instance_type_extra_specs", "aggregate_hosts");
}

/** Inserted ids do not advance PostgreSQL's sequences. */
async function count(db: Knex, ...tables: readonly string[]): Promise<void> {
  for (const table of tables)
    await db.raw("SELECT setval(pg_get_serial_sequence(?, 'id'), max(id)) FROM ??", [table, table]);
}

function serviceOn(host: Json, at: number): CaseRow {
  return {
    ...{ id: at + 1, host, binary: "nova-compute", topic: "compute" },
    ...{ report_count: 10, disabled: false, deleted: 0 },
  };
}

/** The compute node of nova-baremetal for a machine. */
function computeOf(node: CaseRow, service_id: number): CaseRow {
  return {
    ...{ service_id, vcpus: 8, memory_mb: 49152, local_gb: 500 },
    ...{ vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0 },
    ...{ hypervisor_type: "baremetal", hypervisor_version: 1, cpu_info: "baremetal cpu" },
    ...{ hypervisor_hostname: node.uuid ?? null, deleted: 0 },
  };
}

/** Nova's network cache of an instance: the VIFs of its node. */
function cacheOf(
  instance: CaseRow,
  used: readonly CaseRow[],
  interfaces: readonly CaseRow[],
): CaseRow {
  const lower = (value: Json | undefined): string => String(value).toLowerCase();
  const holders = used.filter((node) => lower(node.instance_uuid) === lower(instance.uuid));
  const on = holders.find((node) => lower(node.uuid) === lower(instance.node)) ?? holders[0];
  const vifs = interfaces
    .filter((row) => on !== undefined && row.bm_node_id === on.id && row.vif_uuid !== null)
    .map((row) => ({ id: row.vif_uuid ?? null, address: row.address ?? null }));
  return { instance_uuid: instance.uuid ?? null, deleted: 0, network_info: JSON.stringify(vifs) };
}

/** Builds Ironic's database for the release of the case, with its rows. */
export async function loadIronic(
  db: Knex,
  engine: Engine,
  given: Case,
  charset?: string,
): Promise<void> {
  const { release = "juno", nodes = [], ports = [], more = {} } = given.ironic ?? {};
  const tables = loadTables("ironic", release);
  await create(db, tables, engine, charset);
  const add = insertInto(db, tables);
  const base: CaseRow = {
    driver: "fake",
    maintenance: false,
    console_enabled: false,
    properties: {},
    driver_info: {},
    extra: {},
    instance_info: {},
  };
  await add(
    "nodes",
    nodes.map((row) => ({ ...base, ...row })),
  );
  const rows: readonly { id: number; uuid: string }[] = await db("nodes").select("id", "uuid");
  const ids = new Map(rows.map(({ id, uuid }) => [uuid, Number(id)]));
  await add(
    "ports",
    ports.map(({ node_uuid, ...row }) => ({
      extra: {},
      ...row,
      node_id: ids.get(String(node_uuid)) ?? null,
    })),
  );
  for (const [table, of] of Object.entries(more)) await add(table, of);
}

export function novaConfs(
  given: Case,
): readonly { readonly host: string; readonly text: string }[] {
  if (given.nova_conf === null) return [];
  const hosts = given.nova_conf ?? { "*": { flavor_extra_specs: "cpu_arch:x86_64" } };
  return Object.entries(hosts).map(([host, options]) => {
    const {
      host: own,
      compute_driver,
      ...baremetal
    }: NonNullable<typeof options> = { power_manager: "nova.virt.baremetal.ipmi.IPMI", ...options };
    const lines = Object.entries(baremetal).flatMap(([key, value]) =>
      value === null ? [] : `${key} = ${value}`,
    );
    return {
      host,
      text: [
        ...["[DEFAULT]", own === undefined ? "" : `host = ${own}`],
        ...(compute_driver === undefined ? [] : [`compute_driver = ${compute_driver}`]),
        ...(options === null ? [] : ["[baremetal]", ...lines]),
        "",
      ].join("\n"),
    };
  });
}

export async function loadNovaApi(
  db: Knex,
  engine: Engine,
  { version = 67, flavors, extra_specs }: NonNullable<Case["nova_api"]>,
): Promise<void> {
  await create(db, loadTables("nova_api", version), engine);
  for (const row of flavors) await db("flavors").insert(row);
  for (const row of extra_specs) await db("flavor_extra_specs").insert(row);
  if (engine === "postgresql") await count(db, "flavor_extra_specs");
}
