import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { type Case, type CaseRow, caseMac, caseUuid } from "../cases/case.ts";
import { tenant } from "../hostile/fleet.ts";

const NATIVE = "f0000000-0000-4000-8000-000000000001";

/** Text on which engines, charsets and collations could differ; all of it is Latin-1. */
const ODD: readonly CaseRow[] = [
  { id: 31, pm_user: "J\u00fcrgen \u00e9\u00df", pm_password: "p\u00e4ss \\ ' \" % ? $1" },
  { id: 32, pm_user: "", pm_password: "" },
  { id: 33, service_host: "COMPUTE-1" },
  { id: 34, service_host: " compute-1" },
  { id: 35, uuid: caseUuid("node", 35).toUpperCase() },
  { id: 36, pm_address: "BMC-36.example" },
  { id: 37, pm_address: "bmc-36.EXAMPLE" },
  { id: 38, cpus: 0, memory_mb: null, local_gb: -1 },
  { id: 39, uuid: null },
  { id: 40, task_state: "Active" },
  { id: 41, created_at: null, updated_at: null, deleted: null },
  { id: 42, task_state: "", terminal_port: 0, pxe_config_path: "" },
  { id: 43, cpus: 2_147_483_647, local_gb: -2_147_483_648 },
  tenant(44, { ephemeral_mb: 10_240, preserve_ephemeral: true, terminal_port: 8044 }),
  tenant(45, { uuid: caseUuid("node", 45).toUpperCase(), root_mb: 51_200 }),
  // Two hold one instance: Nova names the second, written in another case.
  tenant(46, { instance_uuid: caseUuid("instance", 47).toUpperCase(), task_state: "error" }),
  tenant(47),
  tenant(48, { task_state: "deploying" }),
  { id: 49, deleted: true, deleted_at: "2014-07-01 00:00:00", pm_address: "BMC-36.example" },
  { id: 50, instance_uuid: "" },
  tenant(51, { task_state: "error" }),
  tenant(52, { pm_password: "0", pm_user: "1e3" }),
];

const WIDE: readonly CaseRow[] = [
  { id: 61, pm_user: "\u7ba1\u7406\u8005", pm_password: "\u5bc6\u7801 \u2603 \ud83d\ude80" },
  { id: 62, service_host: "compute-\u03b1" },
];

/**
 * The demo's twenty machines, and more of every kind that engines could read differently.
 * @param latin1 leave out what a Latin-1 database cannot hold
 */
export function everything(latin1 = false): Case {
  // The form is the project's own.
  const demo = JSON.parse(
    readFileSync(join(packageRoot(), "fixtures", "demo", "case.json"), "utf8"),
  ) as Case;
  const more = [...ODD, ...(latin1 ? [] : WIDE)];
  const used = more.filter(({ instance_uuid }) => instance_uuid);
  return {
    ...demo,
    shows: "machines of every kind",
    nova_bm: {
      ...demo.nova_bm,
      nodes: [...demo.nova_bm.nodes, ...more],
      interfaces: [
        ...(demo.nova_bm.interfaces ?? []),
        ...more.filter(({ id }) => id !== 43).map(interfaceOf),
        { bm_node_id: 31, address: "5254.aabb.cc01", datapath_id: "0x1f", port_no: 3 },
        { bm_node_id: 32, address: "52-54-AA-BB-CC-02", deleted: null },
        { bm_node_id: 32, address: null },
        { bm_node_id: 33, address: "52-54-00-00-00-22" },
        { bm_node_id: 34, address: "52:54:aa:bb:cc:03", deleted: true },
        { bm_node_id: null, address: "52:54:aa:bb:cc:04" },
        { bm_node_id: 44, address: caseMac(44, 1), vif_uuid: null },
      ],
    },
    nova: {
      ...demo.nova,
      // Nova knows no host of another spelling: on MySQL it could not hold both.
      services: ["compute-1", "compute-2", "vm-host", "iboot-host", "compute-\u03b1"].map(service),
      instances: [
        ...(demo.nova?.instances ?? []),
        ...used
          .filter(({ id }) => id !== 46)
          .map(({ id, instance_uuid }) => ({
            uuid: instance_uuid ?? null,
            node: caseUuid("node", Number(id)),
            display_name: `n\u00e4me ${id}`,
            ...(id === 44 && { ephemeral_gb: 10 }),
            ...(id === 51 && { launched_at: null, vm_state: "error" }),
          })),
      ],
    },
    ironic: {
      nodes: [{ uuid: NATIVE, provision_state: "active", power_state: "power on" }],
      ports: [{ uuid: caseUuid("vif", 999), address: "52:54:ff:00:00:01", node_uuid: NATIVE }],
    },
  };
}

function interfaceOf({ id, instance_uuid }: CaseRow): CaseRow {
  const node = Number(id);
  return {
    bm_node_id: node,
    address: caseMac(node, 0),
    vif_uuid: instance_uuid ? caseUuid("vif", node) : null,
  };
}

export function service(host: string, at: number): CaseRow {
  return {
    ...{ id: at + 1, host, binary: "nova-compute", topic: "compute" },
    ...{ report_count: 10, disabled: false, deleted: 0 },
  };
}
