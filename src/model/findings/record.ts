import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D3.. to D5..: configuration and records. */
export const RECORD = {
  // N2I-D3..: drivers and configuration.
  "N2I-D300": blocking(
    "no nova.conf for this host",
    "Only nova.conf specifies the power manager and driver. Repeat extract with --nova-conf HOST=FILE, or set the driver in the site document.",
  ),
  "N2I-D301": blocking(
    "unknown power manager",
    "Ironic's driver depends on it. With --nova-conf, specify the file that this host's nova-compute reads. If the class was not part of Nova, set power_manager (for example ipmi) in the site document, or driver and driver_info, which replace pm_address, pm_user and pm_password.",
  ),
  "N2I-D302": blocking(
    "no driver for the power manager in this Ironic",
    "Set driver and driver_info in the site document, or skip the machine.",
  ),
  "N2I-D303": blocking(
    "unusable power setting",
    "For iBoot, correct bm_nodes.pm_address to host[:port][,relay] with a port from 1 to 65535. For Ironic's ssh driver, which supports only some hypervisors, correct virtual_power_type, or set driver_info.ssh_virt_type in the site document.",
  ),
  "N2I-D304": warning(
    "incomplete power credentials",
    "nova-baremetal refused every power operation on this machine. Add them to the row.",
  ),
  "N2I-D305": warning(
    "two nodes with the same BMC or power outlet",
    "A power command to one node also affects the other. That is right for a shared chassis, but wrong for IPMI or one iBoot relay (default port 9100, relay 1). Check both nodes.",
  ),
  "N2I-D306": warning(
    "non-ASCII credential",
    "A latin1 table may have garbled it. Compare it with the credential that the BMC accepts.",
  ),
  "N2I-D307": warning(
    "cpu_arch is missing or unknown to Nova",
    "Flavors that request the right architecture will not match. Set cpu_arch in the site document.",
  ),
  "N2I-D308": blocking(
    "deploy driver that cannot be migrated",
    "Ironic has a replacement only for nova.virt.baremetal.pxe.PXE. If this host's nova-compute reads a different file, specify it with --nova-conf. Otherwise set driver and driver_info in the site document, or skip the machine. A Tilera machine with an instance can only be skipped.",
  ),
  "N2I-D309": warning(
    "site document value that this Ironic cannot store",
    "The release lacks that column or key. Remove the value, or plan against a different release.",
  ),
  "N2I-D310": warning(
    "site document entry that matches no machine",
    "If its uuid or host is misspelled, a machine that it should skip is loaded, and its values and accepted findings are ignored. Compare its match with show RUN/snapshot.jsonl.",
  ),
  "N2I-D311": acceptable(
    "nova.conf of another host",
    "Its power settings would apply to the wrong machines. Specify each host's own file with --nova-conf. If this file is right, accept the finding.",
  ),
  "N2I-D312": warning(
    "whitespace around a power address",
    "Resolvers before glibc 2.29 ignored it, but ipmitool and ssh do not. The address is loaded without it.",
  ),
  "N2I-D313": warning(
    "capability omitted or changed to lower case",
    "Ironic and Nova read only ASCII key:value pairs, and Ironic accepts only some lower-case values of boot_mode, boot_option, disk_label, secure_boot and trusted_boot. A flavor that requires an omitted value will not match. Set properties.capabilities in the site document.",
  ),
  "N2I-D314": warning(
    "power manager not set, Nova's default used",
    "If this host's nova-compute reads a different file, pm_address may not be a BMC address. Specify all files of the host with --nova-conf, or set power_manager in the site document.",
  ),
  // N2I-D4..: the record for Ironic.
  "N2I-D400": blocking(
    "missing value that this Ironic needs",
    "Add the value to the source, or set it in the site document.",
  ),
  "N2I-D401": blocking(
    "record does not fit the Ironic schema",
    "A value is too long or has the wrong type. Correct the source.",
  ),
  "N2I-D402": warning(
    "missing value for takeover or deployment",
    "Ironic retries the takeover of a machine in use forever, without any log message. A free machine fails at its next deployment, unless the flavor has deploy images. Repeat extract with --nova-db, or set the value in the site document.",
  ),
  "N2I-D403": acceptable(
    "this Ironic cannot boot the machine",
    "nova-baremetal machines boot kernel and ramdisk from the network and have no bootloader. Ironic 21 and later boots from disk only, and takeover deletes pxelinux.cfg/01-MAC in its tftp_root. Keep the old TFTP service with a tftp_root that Ironic does not share, or install a bootloader. Then accept the finding. Alternatively, set deploy_interface ramdisk (N2I-D409).",
  ),
  "N2I-D404": warning(
    "unknown root filesystem uuid",
    "Only the file at pxe_config_path in the compute host's TFTP tree has it. Without it, takeover leaves the boot file in deploy mode, and the next reboot hangs. Repeat extract with --tftp-root, or set root_uuid in the site document.",
  ),
  "N2I-D405": blocking(
    "character that this Ironic database cannot store",
    "Its tables are utf8mb3. Correct the value.",
  ),
  "N2I-D406": warning(
    "next reboot after takeover hangs in the deploy ramdisk",
    "Juno's takeover links pxelinux.cfg/01-MAC permanently to its own config in deploy mode (Ironic bug 1421370). Copy the old TFTP tree first. After each takeover, before a reboot, run `nova2ironic boot` with the conductor's tftp_root, which writes `default boot` and root=UUID= into NODE-UUID/config. Alternatively, keep the machine in maintenance until Ironic has the fix.",
  ),
  "N2I-D407": warning(
    "node without a resource_class",
    "Nova rejects the node in Stein and later (NoResourceClass) and never schedules to it, because flavors request resources:CUSTOM_<CLASS>=1. Set resource_class in the site document. plan --propose-site derives it from flavors and Placement.",
  ),
  "N2I-D408": warning(
    "takeover fails without a boot file",
    "Ironic 4.0 to 6.2.2 edits tftp_root/NODE-UUID/config, which only its own deployment writes (bugs 1516816, 1646038), after it has pointed DHCP to that file. Create the file first with `nova2ironic boot`, or run 6.2.3. Until then, keep the machine in maintenance.",
  ),
  "N2I-D409": warning(
    "machine boots through the ramdisk interface",
    "Takeover boots instance_info.kernel and ramdisk with kernel_append_params, whose root=UUID= must override the earlier root=/dev/ram0. Reboot one machine to check this. Nova can neither rebuild the machine (Ironic drops both fields but needs them, and the server ends in ERROR) nor assign it to a new tenant. Set deploy_interface back first, and never use ramdisk for free machines. Adoption over REST does not stage any files.",
  ),
  "N2I-D410": blocking(
    "this Ironic does not have the driver",
    "No conductor would manage the node. In the site document, set one of the drivers that the finding lists for this release.",
  ),
  "N2I-D411": warning(
    "unknown driver",
    "It is not part of any Ironic release. A single node with unsuitable interfaces aborts the conductor's takeover of every machine. Compare the interfaces with the vendor's documentation, or correct the name.",
  ),
  "N2I-D412": blocking(
    "driver does not have this interface",
    "A single such node aborts the conductor's takeover of every machine. In the site document, set an interface that the finding lists, or omit the interface.",
  ),
  "N2I-D413": blocking(
    "driver_info lacks a value that the driver requires",
    "Ironic can neither control the power of the machine nor take it over. Set the address in the site document (driver_info), and map the credentials with its rules: {to: driver_info.redfish_password, from: bm_nodes.pm_password}.",
  ),
  "N2I-D414": acceptable(
    "driver_info has no credentials",
    "Ironic would contact the BMC without credentials. Map them with rules in the site document: {to: driver_info.redfish_username, from: bm_nodes.pm_user} and {to: driver_info.redfish_password, from: bm_nodes.pm_password}. If the BMC does not require credentials, accept the finding.",
  ),
  "N2I-D415": note(
    "interfaces that the conductor sets",
    "The conductor sets its defaults when it first saves the row. Until then, default_<type>_interface in ironic.conf determines the machine's network, console or rescue interface. Set the important interfaces in the site document.",
  ),
  "N2I-D416": acceptable(
    "driver that does not deploy",
    "A rebuilt or new server becomes ACTIVE with the last tenant's data on the disk. Set a driver or deploy_interface that deploys. If power is controlled by hand, set fake_pxe (up to Queens) or manual-management (since Ocata). If no server will be deployed on the machine, accept the finding.",
  ),
  "N2I-D420": warning(
    "no conductor has the driver",
    "Ironic accepts the row, but no conductor will ever manage the node. Enable the driver in ironic.conf (enabled_drivers, or enabled_hardware_types in Ocata and later) and start a conductor once, or set driver or conductor_group in the site document.",
  ),
  "N2I-D421": blocking(
    "interface is not enabled",
    "A single such node aborts the conductor's takeover of every machine, and only its log shows why. Enable the interface in ironic.conf (enabled_<type>_interfaces) and restart the conductors, or set a different interface in the site document. Then run plan again.",
  ),
  "N2I-D423": note(
    "the conductors with the driver are stopped",
    "After a load into the database, nothing happens to the machine until a conductor in its group starts.",
  ),
  "N2I-D422": warning(
    "reserved Ironic nodes",
    "An operation is in progress, or a conductor died during an operation. Wait until it ends, or start that conductor, which clears its own reservations.",
  ),
  // N2I-D5..: existing rows in Ironic.
  "N2I-D500": blocking(
    "uuid already in Ironic",
    "A row that nova2ironic did not write has this uuid. Find out who enrolled it.",
  ),
  "N2I-D501": blocking(
    "MAC already in Ironic",
    "Another node's port has it. Delete that port, or correct bm_interfaces.",
  ),
  "N2I-D502": blocking(
    "instance_uuid already in Ironic",
    "Another node has the instance. Find out which one is right.",
  ),
  "N2I-D503": blocking("name already in Ironic", "Choose a different name in the site document."),
  "N2I-D504": warning(
    "Ironic's row differs from the plan",
    "The row or its source changed after the load. It is left unchanged. Check the listed fields.",
  ),
  // N2I-D75.: limits of adoption over REST. @source facts/ironic.md 4.2, 4.3, 4.7
  "N2I-D750": note(
    "fields that REST cannot write",
    "Ironic writes its own times and internal fields. To keep the old values, load the machines into the database (--ironic-db).",
  ),
  "N2I-D751": note(
    "power state enforced as found",
    "`manage` reads the power state, and the conductor then enforces it, so a machine that is off at adoption stays off. From then on, power the machine on or off through Ironic or Nova.",
  ),
  "N2I-D752": note(
    "protection only after activation",
    "Over REST, protected is set in the last step. Until then, Ironic does not prevent the machine from being torn down. Keep nova-compute stopped until apply ends.",
  ),
  "N2I-D753": warning(
    "provision state that REST cannot reach",
    "The machine is moved only as far as manageable. Continue manually, or load it into the database (--ironic-db).",
  ),
  "N2I-D754": warning(
    "VIF that REST cannot record",
    "POST /vifs would rebind the tenant's live port, so nova2ironic does not call it. The Neutron port is unchanged, and extra.nova_bm.vif_port_id keeps its id. If dhcp_provider is neutron, Ironic cannot rebuild the server without the VIF (No VIFs found). Run openstack baremetal node vif attach NODE VIF after finish and before the first rebuild, or load the machine into the database (--ironic-db).",
  ),
  "N2I-D755": acceptable(
    "adoption creates no boot file",
    "The machine boots from the network, and adoption does not stage any files for it. Keep the old TFTP service, with a tftp_root that Ironic does not share, or run `nova2ironic boot` before and after the adoption. Then accept the finding. Alternatively, load the machine into the database (--ironic-db).",
  ),
  "N2I-D756": warning(
    "no live conductor can adopt the machine",
    "Ironic accepts a node only if a live conductor in its group has the driver. Start such a conductor. Until then, apply refuses to start.",
  ),
  "N2I-D757": blocking(
    "adoption needs deploy images",
    "To adopt a machine that boots from the network, this release requires both images. Set deploy_kernel and deploy_ramdisk in the site document.",
  ),
  "N2I-D758": warning(
    "adoption uses the conductor's deploy images",
    "Adoption fails unless [conductor]deploy_kernel and deploy_ramdisk are set in ironic.conf. Set them there, or in the site document.",
  ),
  "N2I-D759": blocking(
    "adoption needs a port with a MAC",
    "To adopt a machine that boots from the network, this release requires a port. Add the interface in nova-baremetal and repeat extract, or skip the machine.",
  ),
};
