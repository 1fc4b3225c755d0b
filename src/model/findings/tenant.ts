import type { FindingKind } from "./kind.ts";

/** N2I-D1..: problems of the machine and its tenant. */
export const TENANT = {
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
    advice:
      "nova-baremetal ignored MACs here; the VIF of the same MAC in Nova's cache is used. The VIF it names goes to the sibling with its MAC.",
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
  "N2I-D114": {
    severity: "blocks",
    title: "a VIF of the instance would be lost",
    advice:
      "nova_bm and Nova's cache name different VIFs, and this one fits no interface by its MAC. Compare with openstack port list --server INSTANCE, correct bm_interfaces, extract again; or accept it to load the VIFs of the cache that fit.",
    acceptable: true,
  },
  "N2I-D115": {
    severity: "warning",
    title: "Nova's cache of VIFs is not this machine's",
    advice:
      "VIFs are taken from vif_uuid instead, which ignores MACs on machines with several NICs. Compare with openstack port list --server INSTANCE.",
  },
  "N2I-D120": {
    severity: "warning",
    title: "sizes of the deployment disagree",
    advice: "Nova's figures are used, as a native node has them. Compare before a rebuild.",
  },
  "N2I-D121": {
    severity: "warning",
    title: "ephemeral disk beside a swap partition Ironic would not make",
    advice:
      "nova-baremetal always made a swap partition, Ironic makes none for a flavor without swap: a rebuild that preserves the ephemeral disk would take it for the root. Rebuild without --preserve-ephemeral.",
  },
  "N2I-D122": {
    severity: "warning",
    title: "deployed with a root size of 0",
    advice:
      "nova-baremetal grew such a root to the image; Ironic fails a rebuild of it, since every image is larger than 0 GiB. Nova sends its own root_gb with each rebuild, so no rule helps: boot anew with a flavor that has a root size. The machine itself runs on.",
  },
  "N2I-D123": {
    severity: "blocks",
    title: "Nova does not say whether the instance is deleted",
    advice:
      "Nova finds such a row neither among live instances nor among deleted ones. Set instances.deleted to 0 if the tenant is there, or to the row's id, then extract again.",
  },
  "N2I-D124": {
    severity: "warning",
    title: "terminal_port is not a port",
    advice:
      "Ironic refuses power control of a node whose console port is not between 1 and 65535, so it is left out: the machine gets no console. Set driver_info.ipmi_terminal_port in the site document to have one.",
  },
  "N2I-D125": {
    severity: "blocks",
    title: "credential is UTF-8 stored as Latin-1",
    advice:
      "It reads garbled over every connection, and Ironic would send the BMC these letters. Set credentials_charset: utf8 for the machine in the site document to load what was meant; accept it to load it as it reads.",
    acceptable: true,
  },
  "N2I-D126": {
    severity: "warning",
    title: "Ironic will refuse a rebuild from this image",
    advice:
      "The disk_format of the image is ami, ari or aki. Since the fix of CVE-2024-44082 (21.4.4, 23.0.3, 24.1.3, 26.1) Ironic compares it with what the file is and refuses the deployment: the conductor an ami, its agent (image_download_source swift) the others too. Upload the image again as raw or qcow2, and tell its tenants; the machine itself runs on.",
  },
  "N2I-D127": {
    severity: "warning",
    title: "Ironic will refuse a rebuild under the ramdisk interface",
    advice:
      "deploy_interface ramdisk boots kernel and ramdisk of the image, and this image names none (kernel_id, ramdisk_id). Set both properties in Glance, or another deploy_interface in the site document; the machine itself runs on.",
  },
} as const satisfies Record<string, FindingKind>;
