import { acceptable, blocking, warning } from "./kind.ts";

/** N2I-D3..: drivers and configuration. */
export const CONFIG = {
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
};
