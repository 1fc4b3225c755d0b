import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D1..: the machine and its tenant. */
export const TENANT = {
  "N2I-D100": acceptable(
    "deployment in progress",
    "Wait until the deployment ends. If nova-compute is down for good, accept the finding. After deploy complete, the machine is then loaded as active and in maintenance. Otherwise it is loaded as a failed deployment.",
  ),
  "N2I-D101": blocking(
    "unknown task_state",
    "The current operation on the machine is unknown. Correct the row, or skip the machine.",
  ),
  "N2I-D102": blocking(
    "two live nodes with the same instance",
    "Nova does not show which node is right. Clear instance_uuid on the wrong node.",
  ),
  "N2I-D103": warning(
    "instance belongs to another node",
    "A failed deployment left it on this node, so the machine is loaded as free and in maintenance. Wipe it before use.",
  ),
  "N2I-D104": warning(
    "failed deployment or teardown that was not cleaned up",
    "The machine is loaded in maintenance with its error. Tear it down once Ironic is running.",
  ),
  "N2I-D105": warning(
    "free machine after an incomplete cleanup",
    "Its disk may contain a tenant's image, so it is loaded in maintenance. Wipe it before use.",
  ),
  "N2I-D106": warning(
    "state and instance do not match",
    "Nova never writes this combination, so the machine is loaded in maintenance. Check the machine.",
  ),
  "N2I-D107": acceptable(
    "instance on a free machine",
    "Nova never writes this combination. Correct the row, or accept the finding to load the machine as active and in maintenance.",
  ),
  "N2I-D110": warning(
    "vif_uuid on a node without an instance",
    "It remains from a failed cleanup. It is not migrated.",
  ),
  "N2I-D111": warning(
    "vif_uuid of a sibling interface",
    "nova-baremetal assigned the VIF without comparing MACs. The interface gets the VIF with its MAC from Nova's cache, and the sibling interface gets the VIF in vif_uuid, which has the sibling's MAC.",
  ),
  "N2I-D112": acceptable(
    "fewer interfaces than VIFs",
    "nova-compute aborts when it starts if a node has fewer ports than VIFs. Add the missing bm_interfaces row, or accept the finding.",
  ),
  "N2I-D113": warning(
    "machine in use without a VIF",
    "Takeover requires at least one port with a VIF to set its DHCP options. Compare the MACs with those in Neutron.",
  ),
  "N2I-D114": acceptable(
    "a VIF of the instance would be lost",
    "nova_bm and Nova's cache name different VIFs, and no interface has the MAC of this VIF. Compare with openstack port list --server INSTANCE, correct bm_interfaces, and repeat extract. Alternatively, accept the finding to load the matching VIFs from the cache.",
  ),
  "N2I-D115": warning(
    "Nova's VIF cache does not match the machine",
    "VIFs are read from vif_uuid instead. On machines with several NICs, nova-baremetal set it without comparing MACs. Compare with openstack port list --server INSTANCE.",
  ),
  "N2I-D120": warning(
    "different deployment sizes",
    "Nova's sizes are used, as on a native node. Compare them before a rebuild.",
  ),
  "N2I-D121": warning(
    "ephemeral disk with a swap partition unknown to Ironic",
    "nova-baremetal always created a swap partition, but Ironic does not create one for a flavor without swap. A rebuild that preserves the ephemeral disk would use the swap partition as the root, so rebuild without --preserve-ephemeral.",
  ),
  "N2I-D122": warning(
    "deployed with a root size of 0",
    "nova-baremetal grew such a root to the size of the image, but Ironic fails its rebuild, because every image is larger than 0 GiB. Nova sends its own root_gb with each rebuild, so a rule does not help. Boot a new server with a flavor that has a root size. The machine itself keeps running.",
  ),
  "N2I-D123": blocking(
    "instance neither live nor deleted in Nova",
    "Nova lists the row neither as live nor as deleted. Set instances.deleted to 0 if the tenant still uses the machine, and otherwise to the row's id, then repeat extract.",
  ),
  "N2I-D124": warning(
    "terminal_port is not a port",
    "Ironic does not control the power of a node with a console port outside 1 to 65535, so the port is omitted and the machine has no console. For a console, set driver_info.ipmi_terminal_port in the site document.",
  ),
  "N2I-D125": acceptable(
    "UTF-8 credential stored as Latin-1",
    "Every connection reads it garbled, and Ironic would send that text to the BMC. To load the intended text, set credentials_charset: utf8 for the machine in the site document. To load it unchanged, accept the finding.",
  ),
  "N2I-D126": warning(
    "Ironic will reject a rebuild from this image",
    "The disk_format of the image is ami, ari or aki. Since the fix of CVE-2024-44082 (21.4.4, 23.0.3, 24.1.3, 26.1), Ironic compares it with the file and rejects the deployment. The conductor rejects ami, and its agent (image_download_source swift) also rejects the others. The machine keeps running. Upload the image again as raw or qcow2, and inform its tenants.",
  ),
  "N2I-D127": acceptable(
    "ramdisk takeover fails without kernel and ramdisk",
    "The image has no kernel_id and ramdisk_id, so instance_info lacks both, and the conductor repeats the takeover forever. The machine keeps running. Set another deploy_interface in the site document. Alternatively, accept the finding, and after apply run: baremetal node set --instance-info kernel=IMAGE --instance-info ramdisk=IMAGE NODE. A rebuild reads both from the image's properties in Glance.",
  ),
  "N2I-D128": note(
    "two consoles with the same port",
    "One conductor can serve only one of them at a time. Before you enable both consoles, set driver_info.ipmi_terminal_port for one of the nodes in the site document.",
  ),
};
