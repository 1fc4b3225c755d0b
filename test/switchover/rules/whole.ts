import type { NodeDetail } from "../../../src/model/switchover.ts";

/** A machine that boots from an iSCSI volume, and can go on elsewhere. */
export const MACHINE: NodeDetail = {
  uuid: "11111111-0000-4000-8000-000000000001",
  name: "n-1",
  body: {
    ...{ driver: "ipmi", resource_class: "gold", conductor_group: "", owner: null },
    ...{ boot_interface: "ipxe", storage_interface: "external", network_interface: "noop" },
    ...{ deploy_interface: "direct", provision_state: "active", power_state: "power on" },
    ...{ target_provision_state: null, target_power_state: null, reservation: null },
    ...{ instance_uuid: "an-instance", allocation_uuid: null, maintenance: false, extra: {} },
    ...{ maintenance_reason: null, retired: false, protected: false },
    properties: {
      ...{ cpu_arch: "x86_64", cpus: 16, memory_mb: "16384", local_gb: 100, vendor: "acme" },
      capabilities: "boot_mode:uefi,iscsi_boot:True",
    },
    traits: ["CUSTOM_A", "CUSTOM_B"],
  },
  ports: [
    { pxe_enabled: true, physical_network: "one", is_smartnic: false, in_portgroup: false },
    { pxe_enabled: false, physical_network: "two", is_smartnic: false, in_portgroup: true },
  ],
  portgroups: [{ mode: "802.3ad" }],
  connectors: [{ uuid: "c", type: "iqn", connector_id: "iqn.2026-01.example:n-1" }],
  targets: [{ uuid: "t", volume_type: "iscsi", boot_index: 0, volume_id: "v" }],
};

export const SPARE: NodeDetail = {
  ...MACHINE,
  ...{ uuid: "11111111-0000-4000-8000-000000000002", name: "s-1", connectors: [], targets: [] },
  body: { ...MACHINE.body, provision_state: "manageable", instance_uuid: null },
};

/** A node of which some fields are told otherwise. */
export function telling(node: NodeDetail, told: NodeDetail["body"]): NodeDetail {
  return { ...node, body: { ...node.body, ...told } };
}
