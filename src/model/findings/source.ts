import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D0.. to D2..: nova_bm and nova. */
export const SOURCE = {
  // N2I-D0..: source rows.
  "N2I-D001": blocking(
    "node without a uuid",
    "Nova knows it as 'None'. Set a uuid for the row in nova_bm, or skip the machine in the site document.",
  ),
  "N2I-D002": blocking(
    "invalid node uuid",
    "Ironic rejects it. Correct bm_nodes.uuid, or skip the machine.",
  ),
  "N2I-D003": warning(
    "deleted is NULL",
    "nova-baremetal never saw this row, but it is treated as live. If it is not live, skip it.",
  ),
  "N2I-D004": note("soft-deleted node", "It is not loaded."),
  "N2I-D005": acceptable(
    "soft-deleted node with a live Nova instance",
    "A tenant's instance may be running on the machine. Undelete the row or delete the instance. If you accept the finding, the machine is skipped.",
  ),
  "N2I-D006": warning(
    "cpus, memory_mb or local_gb is NULL or not positive",
    "Nova cannot schedule to the machine, and Juno's resource update fails on NULL. Correct the row.",
  ),
  "N2I-D007": warning(
    "node without an interface",
    "Ironic cannot boot a machine without a known MAC.",
  ),
  "N2I-D008": blocking(
    "column without a rule",
    "Its value would be lost. In the site document, add a rule that maps it, or drop it with a reason.",
  ),
  "N2I-D009": blocking(
    "NUL character in a value",
    "Databases and ipmitool truncate or reject such a value. Correct the row.",
  ),
  "N2I-D010": blocking(
    "malformed MAC address",
    "Ironic's ports.address accepts only aa:bb:cc:dd:ee:ff. Correct bm_interfaces.address.",
  ),
  "N2I-D011": blocking(
    "duplicate MAC address",
    "A MAC address must be unique in Ironic, regardless of case, and can have only one VIF. Remove the wrong interface.",
  ),
  "N2I-D012": warning(
    "interface without an address",
    "It is not loaded, because a port needs a MAC.",
  ),
  "N2I-D013": warning(
    "interface without a live node",
    "It is not loaded, because its bm_node_id does not refer to a live node.",
  ),
  "N2I-D014": note("soft-deleted interface", "It is not loaded."),
  "N2I-D015": note("table that Ironic does not need", "Its rows are counted but not migrated."),
  "N2I-D016": blocking(
    "duplicate node uuid",
    "A uuid must be unique in Ironic, regardless of case. Find out which row belongs to the machine, and correct or delete the other row.",
  ),
  "N2I-D017": blocking(
    "unreadable value in deleted",
    "It is neither a number (zero means live, any other number deleted) nor yes or no. Correct the row, because a deleted machine must not be loaded and a live machine must not be lost.",
  ),
  "N2I-D018": note(
    "one MAC in two rows of a machine",
    "The upgrade of nova_bm to version 6 leaves a second row if the spelling differs. The two rows become one port, with the vif_uuid of either row.",
  ),
  "N2I-D019": warning(
    "nonexistent date",
    "No server accepts this creation or update time, so the field is left empty. To migrate the time, correct it and repeat extract.",
  ),
  "N2I-D020": blocking(
    "id is too large",
    "nova2ironic supports ids up to 9007199254740991 (2^53 - 1). Change the id of the row to a smaller one, and set bm_node_id of its interfaces to the same value.",
  ),
  "N2I-D021": blocking(
    "size is not a whole number",
    "Nova fails on it, because Ironic must report whole numbers of cores, MiB and GiB. Correct the row.",
  ),
  "N2I-D022": blocking(
    "invalid MAC address for a network card",
    "No network card has a multicast, broadcast or zero address, so Ironic would never find the machine. Correct bm_interfaces.address, or remove the row.",
  ),
  "N2I-D023": warning(
    "vif_uuid is not a uuid",
    "No Neutron port has such an id, so the port is loaded without a VIF. If the instance has one, correct bm_interfaces.vif_uuid.",
  ),
  // N2I-D1..: the machine and its tenant.
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
  // N2I-D2..: Nova's data.
  "N2I-D200": warning(
    "Nova's data is unknown",
    "Without the nova database, image, kernel, ramdisk, flavor and VIFs are missing. Repeat extract with --nova-db.",
  ),
  "N2I-D201": acceptable(
    "the instance is not in Nova",
    "Without a row, Nova can neither manage the machine nor tear it down. Check --nova-db, and find the owner of the machine. If you accept the finding, the machine is loaded with its instance and in maintenance, which stops Ironic's conductor but not Nova.",
  ),
  "N2I-D202": acceptable(
    "the instance is deleted in Nova",
    "Nova reaps a running deleted instance, and tears the machine down even in maintenance. Release the machine first. If you accept the finding, the machine is loaded in maintenance and without its instance, which hides the machine from Nova (extra.nova_bm.instance_uuid has the instance). Release the machine before maintenance ends, because Juno treats a machine without an instance as free.",
  ),
  "N2I-D203": warning(
    "instances.node is a different node",
    "The value in bm_nodes is used. plan --nova-db --compute-host NAME corrects instances.node. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D204": warning(
    "instances.host differs from service_host",
    "Nova destroys or hides instances that belong to a different host. plan --nova-db --compute-host NAME corrects instances.host. Otherwise the machine is blocked (N2I-D225).",
  ),
  "N2I-D205": warning(
    "service_host without a live nova-compute service",
    "No nova-compute on that host manages the machine. Correct service_host.",
  ),
  "N2I-D206": acceptable(
    "Nova is working on the instance",
    "instances.task_state is set. Wait until the task ends. If nova-compute is down, the task never ends, and its request may be queued. While nova-compute is stopped, run rabbitmqctl purge_queue compute.HOST, then openstack server set --state active INSTANCE. Then repeat extract, or accept the finding. During a deployment, accept N2I-D100, which covers both findings.",
  ),
  "N2I-D207": warning(
    "another instance on this node in Nova",
    "A failed rebuild leaves such a row. The value in bm_nodes is used. Correct instances.node.",
  ),
  "N2I-D208": warning(
    "the flavor of the instance is missing",
    "A rebuild fails with FlavorNotFound, and the flavor's deploy images cannot be read.",
  ),
  "N2I-D209": warning(
    "unreadable network_info",
    "VIFs are read from vif_uuid instead. On nodes with several NICs, nova-baremetal set it without comparing MACs.",
  ),
  "N2I-D210": warning(
    "Nova text that is not UTF-8",
    "It is read as Latin-1. Correct the row if that is wrong.",
  ),
  "N2I-D211": warning(
    "free machine with an instance in Nova",
    "nova_bm lost the instance, or instances.node is wrong. The machine is loaded as free and in maintenance, so that Nova does not assign it to a tenant. Find out whether a tenant's instance is running there (N2I-D207 shows it), correct the wrong row, then run extract and plan again. If the machine is free, end maintenance.",
  ),
};
