import { warning } from "./kind.ts";

const FIX =
  "Repeat the copy of the tree, or set root_uuid in the site document to the root filesystem's uuid (blkid).";

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
    `It leads out of the tree, is not a small text file, or is unreadable, and was ignored. ${FIX}`,
  ),
  "N2I-D704": warning(
    "boot file of another instance",
    `Its root filesystem belongs to another tenant, perhaps the previous one. It was ignored. ${FIX}`,
  ),
  "N2I-D705": warning(
    "interface link does not lead to the boot file",
    "pxelinux looks for pxelinux.cfg/01-MAC, so the machine does not boot from that interface. `boot` creates the links, but keeps a link to another machine's file: remove it by hand.",
  ),
  "N2I-D706": warning(
    "no kernel or ramdisk in the tree",
    "The next reboot would find nothing to boot, or only configurations were copied. `boot` needs the whole tree, unless both files are already in Ironic's.",
  ),
  "N2I-D707": warning(
    "no TFTP tree of this host",
    "Repeat extract with --tftp-root HOST=DIR for each service_host.",
  ),
  "N2I-D708": warning(
    "different root filesystems in site document and boot file",
    "The value of the site document is used. Check it on the machine with blkid.",
  ),
};
