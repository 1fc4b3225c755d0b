import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D1..: problems of the machine and its tenant. */
export const TENANT = {
  "N2I-D100": acceptable(
    "deployment in flight",
    "Wait until the deployment ends. When nova-compute is long dead, accept it: the machine is loaded as the state table says.",
  ),
  "N2I-D101": blocking(
    "task_state is unknown",
    "Nobody can tell what the machine is doing. Correct the row, or skip the machine.",
  ),
  "N2I-D102": blocking(
    "two live nodes hold the same instance",
    "Nova does not say which one is right. Clear instance_uuid of the wrong one.",
  ),
  "N2I-D103": warning(
    "instance belongs to another node",
    "A failed deployment left it behind: the machine is loaded free, in maintenance. Wipe it before use.",
  ),
  "N2I-D104": warning(
    "deployment failed and was not cleaned up",
    "The machine is loaded in maintenance with its error. Tear it down once Ironic runs.",
  ),
  "N2I-D105": warning(
    "free machine with an unclean past",
    "Its disk may hold a tenant's image: loaded in maintenance. Wipe it before use.",
  ),
  "N2I-D106": warning(
    "state and instance contradict each other",
    "No code writes this; loaded in maintenance. Look at the machine.",
  ),
  "N2I-D107": acceptable(
    "instance on a machine that says it is free",
    "No code writes this. Correct the row, or accept it: the machine is loaded active, in maintenance.",
  ),
  "N2I-D110": warning(
    "vif_uuid on a node without instance",
    "A leftover of a failed clean-up; it is not carried over.",
  ),
  "N2I-D111": warning(
    "vif_uuid names the port of a sibling interface",
    "nova-baremetal ignored MACs here; the VIF of the same MAC in Nova's cache is used. The VIF it names goes to the sibling with its MAC.",
  ),
  "N2I-D112": acceptable(
    "fewer interfaces than VIFs",
    "nova-compute aborts at start when a node has fewer ports than VIFs. Add the missing bm_interfaces row, or accept it.",
  ),
  "N2I-D113": warning(
    "machine in use without a VIF",
    "Take-over needs at least one port with a VIF to set its DHCP options. Compare MACs with Neutron's.",
  ),
  "N2I-D114": acceptable(
    "a VIF of the instance would be lost",
    "nova_bm and Nova's cache name different VIFs, and this one fits no interface by its MAC. Compare with openstack port list --server INSTANCE, correct bm_interfaces, extract again; or accept it to load the VIFs of the cache that fit.",
  ),
  "N2I-D115": warning(
    "Nova's cache of VIFs is not this machine's",
    "VIFs are taken from vif_uuid instead, which ignores MACs on machines with several NICs. Compare with openstack port list --server INSTANCE.",
  ),
  "N2I-D120": warning(
    "sizes of the deployment disagree",
    "Nova's figures are used, as a native node has them. Compare before a rebuild.",
  ),
  "N2I-D121": warning(
    "ephemeral disk beside a swap partition Ironic would not make",
    "nova-baremetal always made a swap partition, Ironic makes none for a flavor without swap: a rebuild that preserves the ephemeral disk would take it for the root. Rebuild without --preserve-ephemeral.",
  ),
  "N2I-D122": warning(
    "deployed with a root size of 0",
    "nova-baremetal grew such a root to the image; Ironic fails a rebuild of it, since every image is larger than 0 GiB. Nova sends its own root_gb with each rebuild, so no rule helps: boot anew with a flavor that has a root size. The machine itself runs on.",
  ),
  "N2I-D123": blocking(
    "Nova does not say whether the instance is deleted",
    "Nova finds such a row neither among live instances nor among deleted ones. Set instances.deleted to 0 if the tenant is there, or to the row's id, then extract again.",
  ),
  "N2I-D124": warning(
    "terminal_port is not a port",
    "Ironic refuses power control of a node whose console port is not between 1 and 65535, so it is left out: the machine gets no console. Set driver_info.ipmi_terminal_port in the site document to have one.",
  ),
  "N2I-D125": acceptable(
    "credential is UTF-8 stored as Latin-1",
    "It reads garbled over every connection, and Ironic would send the BMC these letters. Set credentials_charset: utf8 for the machine in the site document to load what was meant; accept it to load it as it reads.",
  ),
  "N2I-D126": warning(
    "Ironic will refuse a rebuild from this image",
    "The disk_format of the image is ami, ari or aki. Since the fix of CVE-2024-44082 (21.4.4, 23.0.3, 24.1.3, 26.1) Ironic compares it with what the file is and refuses the deployment: the conductor an ami, its agent (image_download_source swift) the others too. Upload the image again as raw or qcow2, and tell its tenants; the machine itself runs on.",
  ),
  "N2I-D127": acceptable(
    "take-over under the ramdisk interface fails without kernel and ramdisk",
    "The image has no kernel_id and ramdisk_id, so instance_info lacks both. The conductor cannot prepare the machine and retries without end. The machine keeps running. Set another deploy_interface in the site document. Or accept the finding, and run after apply: baremetal node set --instance-info kernel=IMAGE --instance-info ramdisk=IMAGE NODE. A rebuild reads both from the properties of its image in Glance.",
  ),
  "N2I-D128": note(
    "two consoles have the same port",
    "One conductor can serve only one of them at a time. Before you enable both consoles, set driver_info.ipmi_terminal_port of one in the site document.",
  ),
};
