import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D4..: the record for Ironic. */
export const RECORD = {
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
};
