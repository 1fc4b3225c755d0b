import type { Severity } from "./finding.ts";

export interface FindingKind {
  readonly severity: Severity;
  readonly title: string;
  /** What goes wrong when nobody looks, and what to do: for `explain` and reports. */
  readonly advice: string;
  /** A blocking finding the site document can accept: there is a safe way to load the machine. */
  readonly acceptable?: boolean;
}

/**
 * Every problem the data can have. Codes are never reused. D0 rows as they stand, D1 the machine
 * and its tenant, D2 what Nova says, D3 configuration, D4 the record for Ironic, D5 Ironic's side.
 *
 * @source facts/nova-bm.md 1.5-1.11, 2.3-2.4, 3, 5.5; facts/ironic.md 0-3
 */
export const FINDINGS = {
  "N2I-D001": {
    severity: "blocks",
    title: "node without uuid",
    advice:
      "Nova knows it as 'None'. Give the row a uuid in nova_bm, or skip the machine in the site document.",
  },
  "N2I-D002": {
    severity: "blocks",
    title: "node uuid is not a uuid",
    advice: "Ironic refuses it. Correct bm_nodes.uuid, or skip the machine.",
  },
  "N2I-D003": {
    severity: "warning",
    title: "deleted is NULL",
    advice:
      "nova-baremetal never saw this row; it is treated as live. Skip it if it should not be.",
  },
  "N2I-D004": {
    severity: "note",
    title: "soft-deleted node",
    advice: "It is not loaded.",
  },
  "N2I-D005": {
    severity: "blocks",
    title: "soft-deleted node still has a live Nova instance",
    advice:
      "A tenant may be running there and nothing would own the machine. Undelete the row or end the instance; accept it to leave the machine out.",
    acceptable: true,
  },
  "N2I-D006": {
    severity: "warning",
    title: "cpus, memory_mb or local_gb is NULL or not positive",
    advice: "Nova cannot schedule it and Juno's resource update fails on NULL. Correct the row.",
  },
  "N2I-D007": {
    severity: "warning",
    title: "node without an interface",
    advice: "Ironic cannot boot a machine it knows no MAC of.",
  },
  "N2I-D008": {
    severity: "blocks",
    title: "column that no rule reads",
    advice:
      "Its value would be lost. Add a rule that carries it, or drop it with a reason, in the site document.",
  },
  "N2I-D009": {
    severity: "blocks",
    title: "NUL character in a value",
    advice: "Databases and ipmitool cut or refuse it. Correct the row.",
  },
  "N2I-D010": {
    severity: "blocks",
    title: "MAC address is malformed",
    advice: "Ironic's ports.address holds aa:bb:cc:dd:ee:ff only. Correct bm_interfaces.address.",
  },
  "N2I-D011": {
    severity: "blocks",
    title: "MAC address occurs twice",
    advice: "It is unique in Ironic, ignoring case. Remove the interface that is not real.",
  },
  "N2I-D012": {
    severity: "warning",
    title: "interface without an address",
    advice: "It is not loaded: a port needs a MAC.",
  },
  "N2I-D013": {
    severity: "warning",
    title: "interface without a live node",
    advice: "It is not loaded: its bm_node_id names no live node.",
  },
  "N2I-D014": {
    severity: "note",
    title: "soft-deleted interface",
    advice: "It is not loaded.",
  },
  "N2I-D015": {
    severity: "note",
    title: "table with nothing Ironic needs",
    advice: "Its rows are counted and left where they are.",
  },
  "N2I-D100": {
    severity: "blocks",
    title: "deployment in flight",
    advice:
      "Wait until the deployment ends. When nova-compute is long dead, accept it: the machine is loaded as the state table says.",
    acceptable: true,
  },
  "N2I-D101": {
    severity: "blocks",
    title: "task_state is unknown",
    advice: "Nobody can tell what the machine is doing. Correct the row, or skip the machine.",
  },
  "N2I-D102": {
    severity: "blocks",
    title: "two live nodes hold the same instance",
    advice: "Nova does not say which one is right. Clear instance_uuid of the wrong one.",
  },
  "N2I-D103": {
    severity: "warning",
    title: "instance belongs to another node",
    advice:
      "A failed deployment left it behind: the machine is loaded free, in maintenance. Wipe it before use.",
  },
  "N2I-D104": {
    severity: "warning",
    title: "deployment failed and was not cleaned up",
    advice: "The machine is loaded in maintenance with its error. Tear it down once Ironic runs.",
  },
  "N2I-D105": {
    severity: "warning",
    title: "free machine with an unclean past",
    advice: "Its disk may hold a tenant's image: loaded in maintenance. Wipe it before use.",
  },
  "N2I-D106": {
    severity: "warning",
    title: "state and instance contradict each other",
    advice: "No code writes this; loaded in maintenance. Look at the machine.",
  },
  "N2I-D107": {
    severity: "blocks",
    title: "instance on a machine that says it is free",
    advice:
      "No code writes this. Correct the row, or accept it: the machine is loaded active, in maintenance.",
    acceptable: true,
  },
  "N2I-D110": {
    severity: "warning",
    title: "vif_uuid on a node without instance",
    advice: "A leftover of a failed clean-up; it is not carried over.",
  },
  "N2I-D111": {
    severity: "warning",
    title: "vif_uuid names the port of a sibling interface",
    advice: "nova-baremetal ignored MACs here; the VIF of the same MAC in Nova's cache is used.",
  },
  "N2I-D112": {
    severity: "blocks",
    title: "fewer interfaces than VIFs",
    advice:
      "nova-compute aborts at start when a node has fewer ports than VIFs. Add the missing bm_interfaces row, or accept it.",
    acceptable: true,
  },
  "N2I-D113": {
    severity: "warning",
    title: "machine in use without a VIF",
    advice:
      "Take-over needs at least one port with a VIF to set its DHCP options. Compare MACs with Neutron's.",
  },
  "N2I-D120": {
    severity: "warning",
    title: "sizes of the deployment disagree",
    advice: "Nova's figures are used, as a native node has them. Compare before a rebuild.",
  },
  "N2I-D200": {
    severity: "warning",
    title: "what only Nova knows is unknown",
    advice:
      "The nova database was not read: image, kernel, ramdisk, flavor and VIFs are missing. Extract again with --nova-db.",
  },
  "N2I-D201": {
    severity: "blocks",
    title: "instance is not in Nova",
    advice:
      "Nova's ironic driver may tear the machine down. Find out whose it is; accept it to load it active, in maintenance.",
    acceptable: true,
  },
  "N2I-D202": {
    severity: "blocks",
    title: "instance is deleted in Nova",
    advice:
      "Nova reaps a running deleted instance: the machine would be torn down. Release it first, or accept it to load it active, in maintenance.",
    acceptable: true,
  },
  "N2I-D203": {
    severity: "warning",
    title: "instances.node is not this node",
    advice:
      "bm_nodes is trusted. Nova will not find the instance until instances.node is this uuid.",
  },
  "N2I-D204": {
    severity: "warning",
    title: "instances.host is not service_host",
    advice: "Nova destroys or hides instances of another host. Mend it before nova-compute starts.",
  },
  "N2I-D205": {
    severity: "warning",
    title: "service_host is no nova-compute service",
    advice: "The machine was never managed from there. Correct service_host.",
  },
  "N2I-D206": {
    severity: "blocks",
    title: "Nova is working on the instance",
    advice:
      "instances.task_state is set. Wait until it ends; accept it when nova-compute is long dead.",
    acceptable: true,
  },
  "N2I-D207": {
    severity: "warning",
    title: "Nova places another instance on this node",
    advice: "A failed rebuild leaves such a row. bm_nodes is trusted; mend instances.node.",
  },
  "N2I-D208": {
    severity: "warning",
    title: "flavor of the instance is gone",
    advice: "A rebuild fails with FlavorNotFound, and deploy images cannot be read from it.",
  },
  "N2I-D209": {
    severity: "warning",
    title: "network_info cannot be read",
    advice: "VIFs are taken from vif_uuid instead, which ignores MACs on nodes with several NICs.",
  },
  "N2I-D300": {
    severity: "blocks",
    title: "no nova.conf for this host",
    advice:
      "Power manager and driver stand only there. Extract again with --nova-conf HOST=FILE, or set the driver in the site document.",
  },
  "N2I-D301": {
    severity: "blocks",
    title: "power manager is unknown",
    advice: "An out-of-tree class: set driver and driver_info in the site document.",
  },
  "N2I-D302": {
    severity: "blocks",
    title: "power manager has no driver in this Ironic",
    advice: "Set driver and driver_info in the site document, or skip the machine.",
  },
  "N2I-D303": {
    severity: "blocks",
    title: "power address cannot be read",
    advice: "iBoot needs host[:port][,relay]. Correct bm_nodes.pm_address.",
  },
  "N2I-D304": {
    severity: "warning",
    title: "power credentials are incomplete",
    advice: "nova-baremetal refused every operation on it. Complete the row.",
  },
  "N2I-D305": {
    severity: "warning",
    title: "two live nodes have the same pm_address",
    advice: "Right for a shared chassis or iBoot relays, wrong for IPMI: look at both.",
  },
  "N2I-D306": {
    severity: "warning",
    title: "credential is not plain ASCII",
    advice: "Latin-1 tables may have garbled it. Compare with what the BMC accepts.",
  },
  "N2I-D307": {
    severity: "warning",
    title: "cpu_arch is unknown",
    advice: "Flavors that ask for it will not match. Set cpu_arch in the site document.",
  },
  "N2I-D308": {
    severity: "blocks",
    title: "deploy driver cannot be carried over",
    advice: "A Tilera machine's root filesystem lives on the compute host. Skip it.",
  },
  "N2I-D400": {
    severity: "blocks",
    title: "value is missing that this Ironic needs",
    advice: "Complete the source, or set the value in the site document.",
  },
  "N2I-D401": {
    severity: "blocks",
    title: "record does not fit the Ironic schema",
    advice: "A value is too long or of the wrong type. Correct the source.",
  },
  "N2I-D402": {
    severity: "warning",
    title: "take-over will fail for want of this value",
    advice:
      "The conductor tries for ever and logs nothing. Extract with --nova-db, or set it in the site document.",
  },
  "N2I-D403": {
    severity: "blocks",
    title: "this Ironic cannot boot the machine",
    advice:
      "nova-baremetal machines boot kernel and ramdisk from the network and have no bootloader; Ironic 21 and later boot from disk only. Keep the old TFTP service or install a bootloader, then accept it.",
    acceptable: true,
  },
  "N2I-D404": {
    severity: "warning",
    title: "root filesystem uuid is unknown",
    advice:
      "It stands only in the compute host's TFTP tree; without it take-over leaves the boot file in deploy mode.",
  },
  "N2I-D405": {
    severity: "blocks",
    title: "character that this Ironic database cannot hold",
    advice: "Its tables are utf8mb3. Correct the value.",
  },
  "N2I-D500": {
    severity: "blocks",
    title: "uuid is taken in Ironic",
    advice: "A row this tool did not write has it. Find out who enrolled it.",
  },
  "N2I-D501": {
    severity: "blocks",
    title: "MAC is taken in Ironic",
    advice: "Another node's port has it. Delete that port, or correct bm_interfaces.",
  },
  "N2I-D502": {
    severity: "blocks",
    title: "instance_uuid is taken in Ironic",
    advice: "Another node holds the instance. Find out which one is right.",
  },
  "N2I-D503": {
    severity: "blocks",
    title: "name is taken in Ironic",
    advice: "Choose another name in the site document.",
  },
  "N2I-D504": {
    severity: "warning",
    title: "Ironic's row differs from the plan",
    advice: "Somebody changed it since it was loaded. It is left alone; see the fields listed.",
  },
} as const satisfies Record<string, FindingKind>;

export type FindingCode = keyof typeof FINDINGS;
