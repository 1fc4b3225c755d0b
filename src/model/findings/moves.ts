import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D250 to D279: moves. @source facts/systems.md A, facts/systems-measured.md A1+, A2+ */
export const MOVES = {
  "N2I-D250": blocking(
    "the source service is not forced down",
    "A running nova-compute would act on machines that another host serves. Stop it, run openstack compute service set --down HOST nova-compute (before Liberty: --disable), then plan again. If the host is down, takeover can fence it.",
  ),
  "N2I-D251": blocking(
    "the source nova-compute still reports",
    "It processes its queue and takes machines back, regardless of its service row. Stop it and wait until Nova reports it down.",
  ),
  "N2I-D252": blocking(
    "the source has no nova-compute service",
    "No row shows whether its nova-compute is running, and there is no row to fence it with. Compare the name with nova2ironic host list. If the host is down and its service record was deleted, run host takeover.",
  ),
  "N2I-D253": blocking(
    "the destination has no nova-compute service",
    "Start its nova-compute, then plan again. Since 29.0.0 (2024.1), a nova-compute without a services row refuses to start if instances have its host.",
  ),
  "N2I-D254": blocking(
    "the destination is forced down",
    "Nova does not schedule to it, and its nova-compute may be fenced. When it may serve machines again, run openstack compute service set --up HOST nova-compute.",
  ),
  "N2I-D255": blocking(
    "the destination does not report",
    "No nova-compute would serve the machine. Start nova-compute on the destination, then plan again.",
  ),
  "N2I-D256": blocking(
    "the destination is disabled",
    "Nova never schedules to an idle machine on this host. Enable its service, or choose a different host.",
  ),
  "N2I-D257": blocking(
    "the destination has a different driver",
    "Its live compute nodes have a different hypervisor. Choose a host whose nova-compute has the machine's driver.",
  ),
  "N2I-D258": blocking(
    "the destination has no host mapping in this cell",
    "Nova's API does not find instances on a host without a mapping or in a different cell. Run nova-manage cell_v2 discover_hosts, or choose a host in this cell.",
  ),
  "N2I-D259": note(
    "nova_api was not read",
    "nova_api contains the host mappings and, since Newton, the aggregates, so the mappings and aggregates of the two hosts are not compared. Specify --nova-api-db.",
  ),
  "N2I-D260": acceptable(
    "Nova is working on the instance",
    "task_state is set, or vm_state is building. A request is in progress, or is in the queue of a down host, which never completes it. Wait until the request ends. If the host is down, empty its queue, then accept the finding, and takeover clears task_state. Delete an instance whose vm_state remains building.",
  ),
  "N2I-D261": blocking(
    "several instances on the machine",
    "Only one of them can be right. Delete those that differ from the node's instance_uuid, then plan again.",
  ),
  "N2I-D262": blocking(
    "several live compute nodes for the machine",
    "Two hosts report it, or a row is stale. Delete the wrong compute node (see openstack hypervisor list), then plan again.",
  ),
  "N2I-D263": blocking(
    "evacuation record for the instance",
    "The nova-compute that the instance was evacuated from destroys the instance when it next starts. Keep the row, but set its status to completed, then plan again.",
  ),
  "N2I-D264": blocking(
    "the destination is in different aggregates",
    "The availability zone and scheduling would change. Put both hosts in the same aggregates, or use --force-aggregates.",
  ),
  "N2I-D265": blocking(
    "Ironic and Nova have different instances",
    "One of them is wrong, and the other instance would be lost. Compare openstack baremetal node show and openstack server show.",
  ),
  "N2I-D266": warning(
    "queued request for the old host",
    "When that nova-compute starts, it executes the request on a machine that another host serves, and powers off the tenant's server. Empty the queue before nova-compute starts.",
  ),
  "N2I-D267": warning(
    "the message queue of the old host must be emptied",
    "A down host executes its queued requests when it returns. nova-compute does not compare instances.host, and forced_down protects neither its queue nor idle machines. Empty the queue before you start the host.",
  ),
  "N2I-D268": blocking(
    "the machine and its instance have different hosts",
    "The rows do not show which host serves it. Start nova-compute on the instance's host, which then takes over the compute node. If that host is down, specify the compute node's host with --to. Otherwise correct the wrong row.",
  ),
  "N2I-D269": blocking(
    "machine with a different driver",
    "Its compute node has a different hypervisor, so changing its row would not move the machine.",
  ),
  "N2I-D270": warning(
    "no source service to fence",
    "Its service record was deleted, so no row shows whether its nova-compute is running, and no service can be forced down. Even a running nova-compute does not create a new record until it restarts, so make sure that the host is down. If its nova-compute starts, Nova creates a record, and verify exits with status 2 until host readmit.",
  ),
};

/** N2I-D280 to D299: moves of nova-baremetal machines. @source facts/systems.md A2, A5 */
export const LEGACY_MOVES = {
  "N2I-D280": blocking(
    "the machine's state does not allow a move",
    "If a machine is moved during a deployment, the deployment fails and is not cleaned up. Wait until task_state is active, deleted or error. If the host is down, takeover sets task_state to error.",
  ),
  "N2I-D281": warning(
    "the host went down during a deployment",
    "The content of the disk is unknown. takeover sets the machine and the instance to error, and creates no boot files. Delete the instance, and boot a new one.",
  ),
  "N2I-D282": note(
    "unfinished earlier move of the machine",
    "The process of that move died. This move resumes the unfinished move, and restores the earlier state.",
  ),
  "N2I-D283": blocking(
    "bm_nodes and Nova have different instances",
    "The rows do not show which instance owns the machine. Compare bm_nodes.instance_uuid with instances.node, correct the wrong one, then plan again.",
  ),
  "N2I-D284": blocking(
    "volumes are attached to the instance",
    "The old host exports them through its own iSCSI target, which cannot be moved in the database. Detach them, then plan again.",
  ),
  "N2I-D285": blocking(
    "nova-network serves the instance",
    "Its tables also refer to compute hosts, and its addresses would remain on the old host. Only machines that use Neutron can be moved.",
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
