import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D250 to D279: moves. @source facts/systems.md A, facts/systems-measured.md A1+, A2+ */
export const MOVES = {
  "N2I-D250": blocking(
    "the source service is not forced down",
    "A running nova-compute would act on machines that another host serves. Stop it, run openstack compute service set --down HOST nova-compute (before Liberty: --disable), then repeat the plan. If the host is down, takeover can fence it.",
  ),
  "N2I-D251": blocking(
    "the source nova-compute still reports",
    "It processes its queue and takes machines back, regardless of its service row. Stop it and wait until Nova reports it down.",
  ),
  "N2I-D252": blocking(
    "the source has no nova-compute service",
    "No row shows whether its nova-compute runs, and no row can fence it. Compare the name with nova2ironic host list. If the host is down and its service record was deleted, run host takeover.",
  ),
  "N2I-D253": blocking(
    "the destination has no nova-compute service",
    "Start its nova-compute, then repeat the plan. Since 29.0.0 (2024.1), a nova-compute without a services row refuses to start after instances name it.",
  ),
  "N2I-D254": blocking(
    "the destination is forced down",
    "Nova does not schedule to it, and its nova-compute may be fenced. When it may serve, run openstack compute service set --up HOST nova-compute.",
  ),
  "N2I-D255": blocking(
    "the destination does not report",
    "No nova-compute would serve the machine. Start the nova-compute of the destination, then repeat the plan.",
  ),
  "N2I-D256": blocking(
    "the destination is disabled",
    "Nova never schedules to an idle machine there. Enable its service, or name another host.",
  ),
  "N2I-D257": blocking(
    "the destination has another driver",
    "Its live compute nodes are of another hypervisor. Name a host whose nova-compute has the machine's driver.",
  ),
  "N2I-D258": blocking(
    "the destination has no host mapping in this cell",
    "Nova's API finds no instance on a host without a mapping, or in another cell. Run nova-manage cell_v2 discover_hosts, or name a host of this cell.",
  ),
  "N2I-D259": note(
    "nova_api was not read",
    "It has the host mappings and, since Newton, the aggregates, so those of both hosts are not compared. Give --nova-api-db.",
  ),
  "N2I-D260": acceptable(
    "Nova is working on the instance",
    "task_state is set, or vm_state is building: a request is in progress, or in the queue of a down host, which never completes it. Wait until it ends. If the host is down, empty its queue, then accept the finding, and takeover clears task_state. An instance in building stays so: delete it.",
  ),
  "N2I-D261": blocking(
    "several instances on the machine",
    "Only one can be its tenant. Delete those that the node's instance_uuid does not name, then repeat the plan.",
  ),
  "N2I-D262": blocking(
    "several live compute nodes of the machine",
    "Two hosts offer it, or a row is stale. Delete the wrong one (openstack hypervisor list), then repeat the plan.",
  ),
  "N2I-D263": blocking(
    "evacuation record of the instance",
    "The nova-compute that the instance left destroys the tenant at its next start. Keep the row, set its status to completed, then repeat the plan.",
  ),
  "N2I-D264": blocking(
    "the destination is in other aggregates",
    "The availability zone and scheduling would change. Make the aggregates equal, or give --force-aggregates.",
  ),
  "N2I-D265": blocking(
    "Ironic and Nova name different instances",
    "One of them is wrong, and the tenant of the other would be lost. Compare openstack baremetal node show and openstack server show.",
  ),
  "N2I-D266": warning(
    "queued request for the old host",
    "When that nova-compute starts, it executes the request on a machine that another host serves, and powers off the tenant. Empty the queue before it starts.",
  ),
  "N2I-D267": warning(
    "the message queue of the old host must be emptied",
    "A down host executes its queued requests when it returns. nova-compute does not compare instances.host, and forced_down protects neither its queue nor idle machines. Empty the queue before you start it.",
  ),
  "N2I-D268": blocking(
    "the machine and its instance name different hosts",
    "The rows do not show which host serves it. Start the nova-compute that the instance names, which takes over the compute node. If that host is down, give the compute node's host with --to. Otherwise correct the wrong row.",
  ),
  "N2I-D269": blocking(
    "machine of another driver",
    "Its compute node is of another hypervisor, so a change of its row moves nothing.",
  ),
  "N2I-D270": warning(
    "no source service to fence",
    "Its service record was deleted, so no row shows whether its nova-compute runs, and none can be forced down. Even a running nova-compute makes no new record until it restarts: make sure that the host is down. If its nova-compute starts, Nova makes a record, and verify exits with 2 until host readmit.",
  ),
};

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
