import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { loadTables } from "../../src/run/files/load-tables.ts";
import { createTables } from "../../src/systems/database/create-tables.ts";

const JUNO = 254;

/**
 * A fleet made by the servers themselves, out of a row of numbers: the same `n` gives the same
 * machine on every engine and in every run. Uuids are digests, so that they meet indexes in no
 * order, as real ones do. Every second machine is in use and has its instance in nova.
 *
 * Only functions that MariaDB and PostgreSQL share stand here; `spoken` has what SQLite says otherwise.
 */
const HOSTS = 40;

const NUMBERS: { readonly [engine in Engine]: (size: number) => string } = {
  mysql: (size) => `(SELECT seq AS n FROM seq_1_to_${size}) AS numbers`,
  postgresql: (size) => `generate_series(1, ${size}) AS numbers(n)`,
  sqlite: (size) =>
    `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${size}) SELECT n FROM s) AS numbers`,
};

/** SQLite has no md5: what stands for it is as long, another for each kind, and in no order either. */
function digest(kind: string): string {
  const seed = [...kind].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7);
  const parts = [2_654_435_761, 2_246_822_519, 3_266_489_917, 668_265_263].map(
    (factor) => `(n * ${factor} + ${seed}) & 4294967295`,
  );
  return `printf('%08x%08x%08x%08x', ${parts.join(",")})`;
}

/** Stands for the condition on a machine that is in use. */
const IN_USE = "IN_USE";

/** @param share one machine of so many is in use */
function spoken(engine: Engine, share: number, written: string): string {
  const statement = written.replaceAll(IN_USE, `n % ${share} = 0`);
  if (engine !== "sqlite") return statement;
  return statement
    .replaceAll(/md5\(concat\('(\w+)', n\)\)/g, (_, kind: string) => digest(kind))
    .replaceAll("lpad(concat(n),6,'0')", "printf('%06d', n)")
    .replaceAll("timestamp '", "'");
}

function uuid(kind: string): string {
  const digest = `md5(concat('${kind}', n))`;
  const part = (from: number, length: number): string => `substr(${digest},${from},${length})`;
  return `concat(${part(1, 8)},'-',${part(9, 4)},'-4',${part(14, 3)},'-8',${part(18, 3)},'-',${part(21, 12)})`;
}

/** Decimal digits read as hexadecimal: unique up to a million machines. */
function mac(nic: string): string {
  const pair = (from: number): string => `substr(lpad(concat(n),6,'0'),${from},2)`;
  return `concat('52:54:0',${nic},':',${pair(1)},':',${pair(3)},':',${pair(5)})`;
}

const USED = (value: string): string => `CASE WHEN ${IN_USE} THEN ${value} END`;
const HOST = `concat('compute-', n % ${HOSTS})`;
const CREATED = "timestamp '2014-05-01 10:00:00'";
const UPDATED = "timestamp '2014-06-01 12:00:00'";

/** As long as nova's own: about 700 bytes a VIF. */
const VIF = `'[{"ovs_interfaceid":"',${uuid("vif")},'","network":{"bridge":"br-int","subnets":[{"ips":[{"meta":{},"version":4,"type":"fixed","floating_ips":[],"address":"10.1.0.5"}],"version":4,"meta":{"dhcp_server":"10.1.0.3"},"dns":[{"meta":{},"version":4,"type":"dns","address":"8.8.8.8"}],"routes":[],"cidr":"10.1.0.0/16","gateway":{"meta":{},"version":4,"type":"gateway","address":"10.1.0.1"}}],"meta":{"injected":false,"tenant_id":"e0000000000040008000000000000001"},"id":"c2b1e0f6-7a57-4d2c-9a1e-5b0f3ad7f001","label":"tenants"},"devname":"tap0","qbh_params":null,"meta":{},"details":{"port_filter":true,"ovs_hybrid_plug":true},"address":"',${mac("0")},'","active":true,"type":"ovs","id":"',${uuid("vif")},'","qbg_params":null}]'`;

/** Column -> expression over `n`; `nic` is 0 and 1 where a machine has two rows. */
type Columns = { readonly [column: string]: string };

const BM_NODES: Columns = {
  id: "n",
  created_at: CREATED,
  updated_at: UPDATED,
  deleted: "false",
  uuid: uuid("node"),
  cpus: "8",
  memory_mb: "49152",
  local_gb: "500",
  pm_address: "concat('10.', floor(n / 65536), '.', floor((n % 65536) / 256), '.', n % 256)",
  pm_user: "'admin'",
  pm_password: "substr(md5(concat('password', n)), 1, 16)",
  service_host: HOST,
  instance_uuid: USED(uuid("instance")),
  instance_name: USED("concat('tenant-', n)"),
  task_state: USED("'active'"),
  image_path: USED(`concat('/var/lib/nova/instances/instance-', n, '/disk')`),
  pxe_config_path: USED(`concat('/tftpboot/', ${uuid("instance")}, '/config')`),
  root_mb: USED("40960"),
  swap_mb: USED("1"),
  ephemeral_mb: USED("0"),
  preserve_ephemeral: "false",
};

const BM_INTERFACES: Columns = {
  id: "2 * n - 1 + nic",
  created_at: CREATED,
  deleted: "false",
  bm_node_id: "n",
  address: mac("nic"),
  datapath_id: "'0'",
  port_no: "0",
  vif_uuid: `CASE WHEN ${IN_USE} AND nic = 0 THEN ${uuid("vif")} END`,
};

const INSTANCES: Columns = {
  id: "n",
  created_at: CREATED,
  launched_at: UPDATED,
  uuid: uuid("instance"),
  node: uuid("node"),
  host: HOST,
  project_id: "'e0000000000040008000000000000001'",
  image_ref: "'d0000000-0000-4000-8000-00000000000a'",
  kernel_id: "'d0000000-0000-4000-8000-00000000000b'",
  ramdisk_id: "'d0000000-0000-4000-8000-00000000000c'",
  hostname: "concat('tenant-', n)",
  display_name: "concat('tenant-', n)",
  ...{ vm_state: "'active'", power_state: "1", instance_type_id: "1", deleted: "0" },
  ...{ memory_mb: "49152", vcpus: "8", root_gb: "40", ephemeral_gb: "0" },
};

const COMPUTE_NODES: Columns = {
  created_at: CREATED,
  service_id: `1 + n % ${HOSTS}`,
  ...{ vcpus: "8", memory_mb: "49152", local_gb: "500" },
  ...{ vcpus_used: "0", memory_mb_used: "0", local_gb_used: "0" },
  ...{ hypervisor_type: "'baremetal'", hypervisor_version: "1", cpu_info: "'baremetal cpu'" },
  hypervisor_hostname: uuid("node"),
  deleted: "0",
};

const METADATA: readonly (readonly [string, string])[] = [
  ["image_base_image_ref", "d0000000-0000-4000-8000-00000000000a"],
  ["instance_type_flavorid", "11"],
  ["instance_type_name", "baremetal"],
  ["instance_type_memory_mb", "49152"],
];

function fill(table: string, columns: Columns, from: string): string {
  return `INSERT INTO ${table} (${Object.keys(columns).join(",")}) SELECT ${Object.values(columns).join(",")} FROM ${from}`;
}

/** @param key how the engine writes the column called key */
function fillNova(engine: Engine, size: number, key: string): readonly string[] {
  const used = `${NUMBERS[engine](size)} WHERE ${IN_USE} ORDER BY n`;
  const word = (name: string): string => key.replace("key", name);
  return [
    fill("instances", INSTANCES, used),
    fill(
      "instance_info_caches",
      { instance_uuid: uuid("instance"), network_info: `concat(${VIF})`, deleted: "0" },
      used,
    ),
    ...METADATA.map(([name, value]) =>
      fill(
        "instance_system_metadata",
        { instance_uuid: uuid("instance"), [key]: `'${name}'`, value: `'${value}'`, deleted: "0" },
        used,
      ),
    ),
    fill(
      "services",
      {
        ...{ id: "n", host: HOST, [word("binary")]: "'nova-compute'", topic: "'compute'" },
        ...{ report_count: "10", disabled: "false", deleted: "0" },
      },
      `${NUMBERS[engine](HOSTS)} ORDER BY n`,
    ),
    fill("compute_nodes", COMPUTE_NODES, `${NUMBERS[engine](size)} ORDER BY n`),
    "INSERT INTO instance_types (id,name,flavorid,memory_mb,vcpus,swap,root_gb,ephemeral_gb,deleted) VALUES (1,'baremetal','11',49152,8,0,40,0,0)",
    `INSERT INTO instance_type_extra_specs (id,instance_type_id,${key},value,deleted) VALUES (1,1,'cpu_arch','x86_64',0)`,
  ];
}

/** How many machines there are, one of how many is in use, and what servers know of their tables. */
export interface Fleet {
  readonly machines: number;
  readonly share: number;
  /** On MariaDB: those of empty tables are what it will have after its next start. */
  readonly stale?: boolean;
}

export async function makeFleet(
  { nova_bm, nova, ironic }: { readonly [name in "nova_bm" | "nova" | "ironic"]: Knex },
  engine: Engine,
  { machines: size, share, stale = false }: Fleet,
): Promise<void> {
  // A table that is made while they are not renewed is counted when it is opened.
  const renewed = (is: "ON" | "OFF") => nova.raw(`SET GLOBAL innodb_stats_auto_recalc = ${is}`);
  const isStale = stale && engine === "mysql";
  if (isStale) await renewed("ON");
  await createTables(nova_bm, loadTables("nova_bm"), { engine });
  await createTables(nova, loadTables("nova", JUNO), { engine });
  await createTables(ironic, loadTables("ironic", "juno"), { engine });
  // As plan advises; MariaDB has an index for each key.
  if (engine !== "mysql") await ironic.raw("CREATE INDEX ports_node_id ON ports (node_id)");
  if (isStale) await renewed("OFF");
  const numbers = NUMBERS[engine](size);
  await nova_bm.raw(spoken(engine, share, fill("bm_nodes", BM_NODES, `${numbers} ORDER BY n`)));
  const both = `${numbers} CROSS JOIN (SELECT 0 AS nic UNION ALL SELECT 1) AS nics ORDER BY n, nic`;
  await nova_bm.raw(spoken(engine, share, fill("bm_interfaces", BM_INTERFACES, both)));
  const key = engine === "mysql" ? "`key`" : '"key"';
  for (const statement of fillNova(engine, size, key))
    await nova.raw(spoken(engine, share, statement));
  // Servers keep statistics of tables that have been there for years; these are seconds old.
  if (engine === "sqlite" || isStale) return;
  const analyse = (tables: readonly string[]): readonly string[] =>
    engine === "mysql"
      ? [`ANALYZE TABLE ${tables.join(",")}`]
      : tables.map((t) => `VACUUM ANALYZE ${t}`);
  for (const sql of analyse(["bm_nodes", "bm_interfaces"])) await nova_bm.raw(sql);
  for (const sql of analyse(Object.keys(loadTables("nova", JUNO).tables))) await nova.raw(sql);
}
