import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D1..: the machine and its tenant. */
export const TENANT = {
  "N2I-D100": acceptable(
    "deployment in progress",
    "Wait until the deployment ends. If nova-compute is down for good, accept the finding. The machine is then loaded active, in maintenance, after deploy complete, and otherwise as a failed deployment.",
  ),
  "N2I-D101": blocking(
    "unknown task_state",
    "The current operation on the machine is unknown. Correct the row, or skip the machine.",
  ),
  "N2I-D102": blocking(
    "two live nodes with the same instance",
    "Nova does not show which one is right. Clear instance_uuid of the wrong one.",
  ),
  "N2I-D103": warning(
    "instance belongs to another node",
    "A failed deployment left it on this node, so the machine is loaded free, in maintenance. Wipe it before use.",
  ),
  "N2I-D104": warning(
    "deployment or release failed without a clean-up",
    "The machine is loaded in maintenance with its error. Tear it down when Ironic runs.",
  ),
  "N2I-D105": warning(
    "free machine after an incomplete clean-up",
    "Its disk may contain a tenant's image, so it is loaded in maintenance. Wipe it before use.",
  ),
  "N2I-D106": warning(
    "state and instance contradict each other",
    "No code writes this, so the machine is loaded in maintenance. Check the machine.",
  ),
  "N2I-D107": acceptable(
    "instance on a free machine",
    "No code writes this. Correct the row, or accept the finding to load the machine active, in maintenance.",
  ),
  "N2I-D110": warning(
    "vif_uuid on a node without an instance",
    "A failed clean-up left it. It is not migrated.",
  ),
  "N2I-D111": warning(
    "vif_uuid of a sibling interface",
    "nova-baremetal ignored MACs here, so the VIF of the same MAC in Nova's cache is used. The named VIF moves to the sibling with its MAC.",
  ),
  "N2I-D112": acceptable(
    "fewer interfaces than VIFs",
    "nova-compute aborts at start if a node has fewer ports than VIFs. Add the missing bm_interfaces row, or accept the finding.",
  ),
  "N2I-D113": warning(
    "machine in use without a VIF",
    "Take-over needs at least one port with a VIF to set its DHCP options. Compare the MACs with those in Neutron.",
  ),
  "N2I-D114": acceptable(
    "a VIF of the instance would be lost",
    "nova_bm and Nova's cache name different VIFs, and this one has the MAC of no interface. Compare with openstack port list --server INSTANCE, correct bm_interfaces, and repeat extract. Or accept the finding to load the matching VIFs of the cache.",
  ),
  "N2I-D115": warning(
    "Nova's VIF cache does not match the machine",
    "VIFs are read from vif_uuid instead, which ignores MACs on machines with several NICs. Compare with openstack port list --server INSTANCE.",
  ),
  "N2I-D120": warning(
    "different sizes of the deployment",
    "Nova's sizes are used, as on a native node. Compare them before a rebuild.",
  ),
  "N2I-D121": warning(
    "ephemeral disk with a swap partition unknown to Ironic",
    "nova-baremetal always made a swap partition, but Ironic makes none for a flavor without swap. A rebuild that preserves the ephemeral disk would use the swap partition as the root, so rebuild without --preserve-ephemeral.",
  ),
  "N2I-D122": warning(
    "deployed with a root size of 0",
    "nova-baremetal grew such a root to the image, but Ironic fails its rebuild, because every image is larger than 0 GiB. Nova sends its own root_gb with each rebuild, so no rule helps: boot a new server with a flavor that has a root size. The machine itself keeps running.",
  ),
  "N2I-D123": blocking(
    "unclear deletion of the instance in Nova",
    "Nova lists the row neither as live nor as deleted. Set instances.deleted to 0 if the tenant is there, or to the row's id, then repeat extract.",
  ),
  "N2I-D124": warning(
    "terminal_port is not a port",
    "Ironic refuses power control if the console port is not between 1 and 65535, so it is omitted and the machine gets no console. For a console, set driver_info.ipmi_terminal_port in the site document.",
  ),
  "N2I-D125": acceptable(
    "UTF-8 credential stored as Latin-1",
    "Every connection reads it garbled, and Ironic would send that text to the BMC. To load the intended text, set credentials_charset: utf8 for the machine in the site document. To load it unchanged, accept the finding.",
  ),
  "N2I-D126": warning(
    "Ironic will refuse a rebuild from this image",
    "The disk_format of the image is ami, ari or aki. Since the fix of CVE-2024-44082 (21.4.4, 23.0.3, 24.1.3, 26.1), Ironic compares it with the file and refuses the deployment: the conductor refuses ami, and its agent (image_download_source swift) also the others. The machine keeps running. Upload the image again as raw or qcow2, and inform its tenants.",
  ),
  "N2I-D127": acceptable(
    "ramdisk take-over fails without kernel and ramdisk",
    "The image has no kernel_id and ramdisk_id, so instance_info lacks both, and the conductor repeats the take-over forever. The machine keeps running. Set another deploy_interface in the site document. Or accept the finding, and run after apply: baremetal node set --instance-info kernel=IMAGE --instance-info ramdisk=IMAGE NODE. A rebuild reads both from the image's properties in Glance.",
  ),
  "N2I-D128": note(
    "two consoles with the same port",
    "One conductor can serve only one of them at a time. Before you enable both consoles, set driver_info.ipmi_terminal_port of one in the site document.",
  ),
};
