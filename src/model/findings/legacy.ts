import { blocking, note, warning } from "./kind.ts";

/** N2I-D280 to D299: moves of nova-baremetal machines. @source facts/systems.md A2, A5 */
export const LEGACY_MOVES = {
  "N2I-D280": blocking(
    "the machine's state does not allow a move",
    "If a machine is moved during a deployment, the deployment fails and is not cleaned up. Wait until task_state is active, deleted or error. If the host is down, takeover sets task_state to error.",
  ),
  "N2I-D281": warning(
    "the host went down during a deployment",
    "The content of the disk is unknown. takeover sets machine and instance to error, and creates no boot files. Delete the instance, and boot a new one.",
  ),
  "N2I-D282": note(
    "unfinished earlier move of the machine",
    "The process of that move died. This move resumes it, and restores the earlier state.",
  ),
  "N2I-D283": blocking(
    "bm_nodes and Nova have different instances",
    "The rows do not show which instance owns the machine. Compare bm_nodes.instance_uuid with instances.node, correct the wrong one, then repeat the plan.",
  ),
  "N2I-D284": blocking(
    "volumes are attached to the instance",
    "The old host exports them through its own iSCSI target, which cannot be moved in the database. Detach them, then repeat the plan.",
  ),
  "N2I-D285": blocking(
    "nova-network serves the instance",
    "Its tables also refer to compute hosts, and its addresses would remain on the old host. Only machines on Neutron can be moved.",
  ),
  "N2I-D286": blocking(
    "the machine is a Tilera board",
    "The compute host exports its root filesystem over NFS, which cannot be moved in the database.",
  ),
  "N2I-D287": blocking(
    "boot files cannot be created on the new host",
    "Without boot files, the machine does not boot after a restart. Specify the new host's tree with --tftp-root, and a copy of the old host's tree, which has the kernels and ramdisks, with --tftp-from HOST=DIR.",
  ),
  "N2I-D288": blocking(
    "unknown root filesystem",
    "Only the old host's boot file has its uuid, and a wrong uuid boots another tenant's disk. Specify a copy of that host's tree with --tftp-from HOST=DIR, or the uuid from blkid with --root-uuid NODE=UUID. An agent with --tftp-root publishes the uuid before its host goes down.",
  ),
  "N2I-D289": warning(
    "no boot loader in the new host's TFTP tree",
    "Machines first request pxelinux.0. Add it before a machine restarts, together with ldlinux.c32 for syslinux 5 and later.",
  ),
  "N2I-D290": note(
    "lock on the instance without an owner",
    "A move that died leaves such a lock, and this move removes it. If the lock is intended, lock the instance again afterwards.",
  ),
};
