import { blocking, note, warning } from "./kind.ts";

/** N2I-D280 to D299: what stands against moving machines of nova-baremetal. @source facts/systems.md A2, A5 */
export const LEGACY_MOVES = {
  "N2I-D280": blocking(
    "the machine's state is none it can be moved in",
    "A deploy, or what follows one, goes on: moved meanwhile it fails, and nobody would clean up after it. Wait until its task_state is active, deleted or error; takeover of a dead host sets it to error by itself.",
  ),
  "N2I-D281": warning(
    "the machine's host died in a deploy",
    "What its deploy left on the disk is not known. takeover sets machine and instance to error, and makes no boot files: delete the instance, and boot another.",
  ),
  "N2I-D282": note(
    "another move of the machine was not ended",
    "Whoever moved it died, and it is under way still. This move goes on from there, and restores the state it had before.",
  ),
  "N2I-D283": blocking(
    "bm_nodes and Nova do not name the same instance",
    "Whose machine it is cannot be known from its rows. Compare bm_nodes.instance_uuid with instances.node, correct the one that is wrong, then plan again.",
  ),
  "N2I-D284": blocking(
    "volumes are attached to the instance",
    "The old host exports them through its own iSCSI target: no row moves that. Detach them first, then plan again.",
  ),
  "N2I-D285": blocking(
    "nova-network serves the instance",
    "Its tables name compute hosts too, and its addresses would stay with the old one. Only machines of Neutron are moved.",
  ),
  "N2I-D286": blocking(
    "the machine is a Tilera",
    "Its root filesystem lies on the compute host, which exports it by NFS: no row moves that.",
  ),
  "N2I-D287": blocking(
    "the machine's boot files cannot be made on the new host",
    "Without them it does not come up after its next restart. Give --tftp-root, the new host's own tree, and --tftp-from HOST=DIR, a copy of the old one's, which has its kernels and ramdisks.",
  ),
  "N2I-D288": blocking(
    "the machine's root filesystem is not known",
    "Its uuid stands in the boot file of its old host and nowhere else, and a wrong one boots another tenant's disk. Give a copy of that host's tree with --tftp-from HOST=DIR, or --root-uuid NODE=UUID as blkid says it; an agent with --tftp-root publishes it before its host dies.",
  ),
  "N2I-D289": warning(
    "the TFTP tree of the new host has no boot loader",
    "Machines ask it for pxelinux.0 before anything else. Put it there, and ldlinux.c32 with syslinux 5 and later, before one restarts.",
  ),
  "N2I-D290": note(
    "the instance is locked, and nobody locked it",
    "Nova names whoever locks an instance. A move that died leaves one locked by nobody, and this move ends with it unlocked. Where it is to stay locked, lock it again afterwards.",
  ),
};
