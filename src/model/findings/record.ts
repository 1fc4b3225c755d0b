import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D4..: problems of the record for Ironic. */
export const RECORD = {
  "N2I-D400": blocking(
    "value is missing that this Ironic needs",
    "Complete the source, or set the value in the site document.",
  ),
  "N2I-D401": blocking(
    "record does not fit the Ironic schema",
    "A value is too long or of the wrong type. Correct the source.",
  ),
  "N2I-D402": warning(
    "take-over or deployment will fail for want of this value",
    "A machine in use is tried for ever and nothing logged; a free one fails at its next deployment, unless the flavor brings deploy images. Extract with --nova-db, or set it in the site document.",
  ),
  "N2I-D403": acceptable(
    "this Ironic cannot boot the machine",
    "nova-baremetal machines boot kernel and ramdisk from the network and have no bootloader; Ironic 21 and later boot from disk only, and take-over deletes pxelinux.cfg/01-MAC in its tftp_root. Keep the old TFTP service, with a tftp_root Ironic does not share, or install a bootloader; then accept it. Or set deploy_interface ramdisk for it (N2I-D409).",
  ),
  "N2I-D404": warning(
    "root filesystem uuid is unknown",
    "It stands only in the compute host's TFTP tree, in the file pxe_config_path names; without it take-over leaves the boot file in deploy mode and the machine's next reboot hangs. Extract with --tftp-root, or set root_uuid in the site document.",
  ),
  "N2I-D405": blocking(
    "character that this Ironic database cannot hold",
    "Its tables are utf8mb3. Correct the value.",
  ),
  "N2I-D406": warning(
    "next reboot after take-over hangs in the deploy ramdisk",
    "Juno's take-over links pxelinux.cfg/01-MAC to a config of its own in deploy mode, for good (Ironic's bug 1421370). Copy the old TFTP tree first. After each take-over, before a machine reboots, run `nova2ironic boot` with the conductor's tftp_root: it puts `default boot` and root=UUID= into NODE-UUID/config. Or keep the machine in maintenance until Ironic carries the fix.",
  ),
  "N2I-D407": warning(
    "node without a resource_class",
    "Nova of Stein and later refuses such a node (NoResourceClass): it reports no inventory of it and never schedules it, since flavors ask for resources:CUSTOM_<CLASS>=1. Set resource_class in the site document; plan --propose-site writes one with what flavors and Placement tell.",
  ),
  "N2I-D408": warning(
    "take-over fails for want of a boot file",
    "Ironic 4.0 to 6.2.2 edit tftp_root/NODE-UUID/config, which only their own deployment writes (bugs 1516816, 1646038), and point DHCP there before that. Put the file there first with `nova2ironic boot`, or run 6.2.3; until then keep the machine in maintenance.",
  ),
  "N2I-D409": warning(
    "machine boots through the ramdisk interface",
    "Take-over fetches instance_info.kernel and ramdisk and boots them with kernel_append_params, whose root=UUID= must win over the root=/dev/ram0 before it: reboot one machine and look. Nova can neither rebuild it (Ironic drops instance_info.kernel and ramdisk, wants them, and the server ends in ERROR) nor give it to a new tenant: set deploy_interface back first, and never set it for free machines. Adoption over REST stages nothing.",
  ),
  "N2I-D410": blocking(
    "this Ironic has no such driver",
    "The node would belong to no conductor. Set a driver of this release in the site document; the finding names them.",
  ),
  "N2I-D411": warning(
    "driver of which nothing is known here",
    "It is in no release's own tree. A node whose interfaces do not fit ends the conductor's turn of take-overs for every machine: hold them against what its makers say, or correct the name.",
  ),
  "N2I-D412": blocking(
    "driver does not have this interface",
    "One such node ends the conductor's turn of take-overs for every machine. Set one of those the finding names in the site document, or leave it out.",
  ),
  "N2I-D413": blocking(
    "driver_info lacks what the driver needs",
    "Ironic can neither switch nor take over the machine. Set the address in the site document (driver_info); carry the login over by its rules: {to: driver_info.redfish_password, from: bm_nodes.pm_password}.",
  ),
  "N2I-D414": acceptable(
    "driver_info has no login",
    "Ironic would ask the BMC without one. Carry it over by rules of the site document: {to: driver_info.redfish_username, from: bm_nodes.pm_user} and {to: driver_info.redfish_password, from: bm_nodes.pm_password}. Accept it where the BMC asks for none.",
  ),
  "N2I-D415": note(
    "interfaces are left to the conductor",
    "It fills in its defaults when it first saves the row; until then a change of ironic.conf's default_<type>_interface changes the machine's network, console or rescue. Set those that matter in the site document.",
  ),
  "N2I-D416": acceptable(
    "driver deploys nothing",
    "A rebuild or a new server ends ACTIVE and the disk is as it was, with the data of the last tenant. Set a driver or a deploy_interface that deploys; if power is switched by hand, fake_pxe (up to Queens) or manual-management (since Ocata). Accept it if no server will be deployed on the machine.",
  ),
  "N2I-D420": warning(
    "no conductor has the driver",
    "Ironic takes the row in, but the node belongs to no conductor and nothing ever happens to it. Enable the driver in ironic.conf (enabled_drivers, since Ocata enabled_hardware_types) and start a conductor once, or set driver or conductor_group in the site document.",
  ),
  "N2I-D421": blocking(
    "interface is not enabled",
    "One such node ends the conductor's turn of take-overs for every machine, and only its log says why. Enable it in ironic.conf (enabled_<type>_interfaces) and restart the conductors, or set another in the site document; then plan again.",
  ),
  "N2I-D423": note(
    "the conductors that have the driver are stopped",
    "A load into the database waits for them: nothing happens to the machine before one of its conductor group is started.",
  ),
  "N2I-D422": warning(
    "Ironic's nodes are reserved",
    "Something is at work on them, or a conductor died over it. Let it end, or start that conductor: it clears its own reservations.",
  ),
};
