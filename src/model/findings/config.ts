import { acceptable, blocking, warning } from "./kind.ts";

/** N2I-D3..: problems of drivers and configuration. */
export const CONFIG = {
  "N2I-D300": blocking(
    "no nova.conf for this host",
    "Power manager and driver stand only there. Extract again with --nova-conf HOST=FILE, or set the driver in the site document.",
  ),
  "N2I-D301": blocking(
    "power manager is unknown",
    "Ironic's driver follows from it. Give --nova-conf the file that nova-compute of this host reads. For a class that nova did not ship, set power_manager (ipmi, for example) in the site document, or driver and driver_info: then pm_address, pm_user and pm_password are not loaded.",
  ),
  "N2I-D302": blocking(
    "power manager has no driver in this Ironic",
    "Set driver and driver_info in the site document, or skip the machine.",
  ),
  "N2I-D303": blocking(
    "power setting cannot be used",
    "iBoot needs host[:port][,relay] with a port from 1 to 65535: correct bm_nodes.pm_address. Ironic's ssh driver knows only some types of hypervisor: correct virtual_power_type, or set driver_info.ssh_virt_type in the site document.",
  ),
  "N2I-D304": warning(
    "power credentials are incomplete",
    "nova-baremetal refused every operation on it. Complete the row.",
  ),
  "N2I-D305": warning(
    "two nodes have the same BMC or power outlet",
    "A power command to one node also affects the other. This is right for a shared chassis, and wrong for IPMI or one iBoot relay. Without port and relay, iBoot's are port 9100 and relay 1. Check both nodes.",
  ),
  "N2I-D306": warning(
    "credential is not plain ASCII",
    "Latin-1 tables may have garbled it. Compare with what the BMC accepts.",
  ),
  "N2I-D307": warning(
    "cpu_arch is missing, or Nova does not know it",
    "Flavors that ask for the right architecture will not match. Set cpu_arch in the site document.",
  ),
  "N2I-D308": blocking(
    "deploy driver cannot be carried over",
    "Ironic deploys as nova.virt.baremetal.pxe.PXE did. If nova-compute of this host reads another file, give --nova-conf that file. Otherwise set driver and driver_info in the site document, or skip the machine. A machine of Tilera with an instance can only be skipped.",
  ),
  "N2I-D309": warning(
    "this Ironic has no place for what the site document sets",
    "The release lacks that column or key, so the value is not written. Leave it out of the site document, or plan against another release.",
  ),
  "N2I-D310": warning(
    "entry of the site document matches no machine",
    "A misspelt uuid or host: what it skips is loaded, and what it sets or accepts is not heard. Compare its match with show RUN/snapshot.jsonl.",
  ),
  "N2I-D311": acceptable(
    "nova.conf is of another host",
    "Its power settings would be given to the wrong machines. Give --nova-conf each host's own file, or accept the finding if this file is right.",
  ),
  "N2I-D312": warning(
    "blank around a power address",
    "Resolvers before glibc 2.29 ignored it, and ipmitool and ssh do not. The address is loaded without it.",
  ),
  "N2I-D313": warning(
    "capability is left out or in lower case",
    "Ironic and Nova read only key:value in ASCII, and Ironic takes only some values of boot_mode, boot_option, disk_label, secure_boot and trusted_boot, in lower case. A flavor that requires the removed value will not match. Set properties.capabilities in the site document.",
  ),
  "N2I-D314": warning(
    "power manager is not set, and Nova's default is taken",
    "If nova-compute of this host reads another file with a power_manager, pm_address is not the address of a BMC. Give --nova-conf all files of the host, or set power_manager in the site document.",
  ),
};
