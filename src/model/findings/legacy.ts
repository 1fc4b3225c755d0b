import { blocking, note, warning } from "./kind.ts";

/** N2I-D280 to D299: moves of nova-baremetal machines. @source facts/systems.md A2, A5 */
export const LEGACY_MOVES = {
  "N2I-D280": blocking(
    "the machine's state does not allow a move",
    "A move during a deployment makes it fail without a clean-up. Wait until its task_state is active, deleted or error. For a down host, takeover itself sets it to error.",
  ),
  "N2I-D281": warning(
    "the host went down during a deployment",
    "The content of the disk is unknown. takeover sets machine and instance to error, and creates no boot files. Delete the instance, and boot another.",
  ),
  "N2I-D282": note(
    "unfinished earlier move of the machine",
    "Its process died. This move resumes it, and restores the earlier state.",
  ),
  "N2I-D283": blocking(
    "bm_nodes and Nova name different instances",
    "The rows do not show whose machine it is. Compare bm_nodes.instance_uuid with instances.node, correct the wrong one, then repeat the plan.",
  ),
  "N2I-D284": blocking(
    "volumes are attached to the instance",
    "The old host exports them through its own iSCSI target, and no row moves that. Detach them, then repeat the plan.",
  ),
  "N2I-D285": blocking(
    "nova-network serves the instance",
    "Its tables also name compute hosts, and its addresses would stay on the old host. Only machines on Neutron can be moved.",
  ),
  "N2I-D286": blocking(
    "the machine is a Tilera",
    "The compute host exports its root filesystem by NFS, and no row moves that.",
  ),
  "N2I-D287": blocking(
    "boot files cannot be created on the new host",
    "Without them the machine does not boot after a restart. Give the new host's tree with --tftp-root, and a copy of the old host's tree, which has the kernels and ramdisks, with --tftp-from HOST=DIR.",
  ),
  "N2I-D288": blocking(
    "unknown root filesystem",
    "Only the old host's boot file has its uuid, and a wrong one boots another tenant's disk. Give a copy of that host's tree with --tftp-from HOST=DIR, or the uuid from blkid with --root-uuid NODE=UUID. An agent with --tftp-root publishes it before its host goes down.",
  ),
  "N2I-D289": warning(
    "no boot loader in the new host's TFTP tree",
    "Machines first request pxelinux.0. Put it there, and ldlinux.c32 with syslinux 5 and later, before a machine restarts.",
  ),
  "N2I-D290": note(
    "lock on the instance without an owner",
    "A move that died leaves such a lock, and this move removes it. If the lock is intended, lock the instance again afterwards.",
  ),
};
