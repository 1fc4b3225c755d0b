import { warning } from "./kind.ts";

const FIX =
  "Copy the tree again, or set root_uuid in the site document to the root filesystem's uuid (blkid).";

/** N2I-D7..: boot files of compute hosts. @source facts/nova-bm.md 3.5 */
export const BOOT = {
  "N2I-D700": warning(
    "missing boot file",
    `The machine runs but cannot reboot, or the tree belongs to another host. ${FIX}`,
  ),
  "N2I-D701": warning(
    "boot file in deploy mode",
    `nova-baremetal never changed it to boot mode, so the machine's next reboot starts the deploy ramdisk. ${FIX}`,
  ),
  "N2I-D702": warning(
    "boot file without a root filesystem",
    `Grizzly's deploy helper wrote UUID=None when it missed the device. ${FIX}`,
  ),
  "N2I-D703": warning(
    "untrusted boot file",
    `It was ignored because it points outside the tree, is not a small text file, or is unreadable. ${FIX}`,
  ),
  "N2I-D704": warning(
    "boot file of another instance",
    `It was ignored because its root filesystem belongs to another tenant, perhaps the previous one. ${FIX}`,
  ),
  "N2I-D705": warning(
    "interface link does not point to the boot file",
    "pxelinux looks for pxelinux.cfg/01-MAC, so the machine does not boot from that interface. `boot` creates the links, but does not replace a link to another machine's file. Remove such a link by hand.",
  ),
  "N2I-D706": warning(
    "no kernel or ramdisk in the tree",
    "Either the machine can no longer boot, or only the configuration files were copied. `boot` requires the complete tree, unless both files are already in Ironic's tree.",
  ),
  "N2I-D707": warning(
    "no TFTP tree for this host",
    "Repeat extract with --tftp-root HOST=DIR for each service_host.",
  ),
  "N2I-D708": warning(
    "root filesystem differs between site document and boot file",
    "The value in the site document is used. Check it on the machine with blkid.",
  ),
};
