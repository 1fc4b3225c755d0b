import { warning } from "./kind.ts";

const FIX =
  "Copy the tree from the compute host again; else read the filesystem's uuid on the machine (blkid) and set root_uuid in the site document.";

/** N2I-D7..: problems of the compute hosts' boot files. @source facts/nova-bm.md 3.5 */
export const BOOT = {
  "N2I-D700": warning(
    "boot file is missing",
    `The machine runs and could not reboot, or the tree is another host's. ${FIX}`,
  ),
  "N2I-D701": warning(
    "boot file deploys instead of booting",
    `nova-baremetal never switched it: the machine's next reboot starts the deploy ramdisk. ${FIX}`,
  ),
  "N2I-D702": warning(
    "boot file names no root filesystem",
    `Grizzly's deploy helper wrote UUID=None when it missed the device. ${FIX}`,
  ),
  "N2I-D703": warning(
    "boot file cannot be trusted",
    `It leads out of the tree, is no small text file, or cannot be read; nothing of it was used. ${FIX}`,
  ),
  "N2I-D704": warning(
    "boot file speaks of another instance",
    `Its root filesystem is another tenant's, perhaps the one before; nothing of it was used. ${FIX}`,
  ),
  "N2I-D705": warning(
    "interface's link does not lead to the boot file",
    "pxelinux looks for pxelinux.cfg/01-MAC: by that interface the machine does not boot. `boot` makes links anew; one that leads to another machine's file it leaves, so remove that by hand.",
  ),
  "N2I-D706": warning(
    "kernel or ramdisk is not in the tree",
    "The next reboot would find nothing to boot, or only configurations were copied: `boot` stages from the whole tree, or where Ironic has put both already.",
  ),
  "N2I-D707": warning(
    "no TFTP tree of this host",
    "Extract again with --tftp-root HOST=DIR for each service_host.",
  ),
  "N2I-D708": warning(
    "site document and boot file name different root filesystems",
    "The site document's is taken. Ask the machine (blkid) which is right.",
  ),
};
