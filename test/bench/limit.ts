import { connect } from "../lab/connect.ts";
import type { Ground } from "./road.ts";

type Columns = { readonly [column: string]: string };

/** How each engine makes a JSON text of names and expressions. */
const JSON_OF = {
  mysql: (members: string) => `json_object(${members})`,
  postgresql: (members: string) => `json_build_object(${members})::text`,
  sqlite: (members: string) => `json_object(${members})`,
} as const;

/** A node of Juno's, as rules.json has it, where no site and no Nova has a say. */
function nodeColumns(json: (members: Columns) => string): Columns {
  return {
    ...{ created_at: "created_at", updated_at: "updated_at", uuid: "uuid" },
    ...{ instance_uuid: "instance_uuid", driver: "'pxe_ipmitool'" },
    provision_state: "CASE WHEN instance_uuid IS NULL THEN NULL ELSE 'active' END",
    ...{ maintenance: "false", console_enabled: "false", provision_updated_at: "updated_at" },
    driver_info: json({
      ...{ ipmi_address: "pm_address", ipmi_username: "pm_user", ipmi_password: "pm_password" },
      pxe_deploy_kernel: "'f0000000-0000-4000-8000-00000000000a'",
      pxe_deploy_ramdisk: "'f0000000-0000-4000-8000-00000000000b'",
    }),
    properties: json({
      ...{ cpus: "cpus", memory_mb: "memory_mb", local_gb: "local_gb", cpu_arch: "'x86_64'" },
    }),
    instance_info: json({ root_gb: "root_mb / 1024", swap_mb: "swap_mb" }),
    extra: json({
      ...{ id: "id", service_host: "service_host", task_state: "task_state" },
      ...{ instance_name: "instance_name", pxe_config_path: "pxe_config_path" },
    }),
  };
}

/**
 * The limit: rows of nodes and ports made by the server itself out of nova_bm's, with their JSON, in one
 * statement each. Nothing is looked at, nothing compared, nothing sealed.
 *
 * @param to a database with Ironic's empty tables
 * @param from what stands before the names of nova_bm's tables
 */
export async function insertSelect(
  { engine, place }: Pick<Ground, "engine" | "place">,
  to: string,
  from: string,
): Promise<void> {
  const json = (members: Columns): string =>
    JSON_OF[engine](
      Object.entries(members)
        .map(([name, value]) => `'${name}', ${value}`)
        .join(", "),
    );
  const nodes = nodeColumns(json);
  const db = connect(place(to));
  try {
    if (engine === "sqlite")
      await db.raw(`ATTACH '${place("nova_bm").database}' AS ${from.replace(".", "")}`);
    await db.raw(
      `INSERT INTO nodes (${Object.keys(nodes).join(", ")}) SELECT ${Object.values(nodes).join(", ")} FROM ${from}bm_nodes ORDER BY id`,
    );
    await db.raw(
      `INSERT INTO ports (created_at, uuid, address, node_id, extra) SELECT i.created_at, ${PORT[engine]}, i.address, n.id, ${json({ vif_port_id: "i.vif_uuid", id: "i.id" })} FROM ${from}bm_interfaces i JOIN ${from}bm_nodes b ON b.id = i.bm_node_id JOIN nodes n ON n.uuid = b.uuid ORDER BY i.id`,
    );
  } finally {
    await db.destroy();
  }
}

/** A uuid of an interface: not ours, but as long. */
const PORT = {
  mysql:
    "insert(insert(insert(insert(md5(i.address), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')",
  postgresql: "md5(i.address)::uuid::text",
  sqlite: "printf('%08x-0000-5000-8000-%s', i.id, replace(i.address, ':', ''))",
} as const;
