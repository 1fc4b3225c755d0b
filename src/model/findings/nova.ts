import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D220 to D249: upgrade of Nova's rows. @source facts/nova-bm.md 4, 5.3 */
export const UPGRADE = {
  "N2I-D220": acceptable(
    "volumes are attached to the instance",
    "They depend on the old compute host and are lost at the next reboot. Detach them. If their loss is acceptable, accept the finding.",
  ),
  "N2I-D221": acceptable(
    "the new compute host is in different aggregates",
    "The instance would change its availability zone. Add the new host to the same aggregates, or accept the finding.",
  ),
  "N2I-D222": blocking(
    "Nova changed the instance after extract",
    "The snapshot no longer matches Nova. Stop nova-compute and repeat extract.",
  ),
  "N2I-D223": note(
    "the old compute service remains enabled",
    "It has other instances or compute nodes. Move them, then disable the service with nova service-disable.",
  ),
  "N2I-D224": note(
    "the new compute host has no service yet",
    "When its nova-compute first starts, it creates the service, and a compute node for each machine. The old compute nodes are soft-deleted.",
  ),
  "N2I-D225": acceptable(
    "no nova-compute will manage the instance",
    "Up to Kilo, nova-compute destroys instances of other hosts when it starts, and later releases do not manage them. Run plan with --nova-db and --compute-host NAME, which changes host and node. If you change the row yourself, accept the finding.",
  ),
  "N2I-D226": acceptable(
    "Nova has the instance on a different compute node",
    "instances.node is a live compute node other than the node in nova_bm. Find out which node the instance runs on, and fix the wrong row. If it runs on this node, accept the finding, which changes host and node.",
  ),
  "N2I-D227": acceptable(
    "several compute hosts, but this Nova allows one",
    "Up to Mitaka, every nova-compute manages all nodes, and up to Kilo it destroys instances of other hosts. Run plan with --nova-db and --compute-host NAME. If you change the rows yourself, accept the finding.",
  ),
  "N2I-D228": warning(
    "no known machine for a --compute-host group or shard",
    "The group or shard of a blocked machine is not known. Compare the name with the site document, fix the machines, then run plan again.",
  ),
  "N2I-D229": warning(
    "some machines keep their compute host, others move",
    "No --compute-host matches these machines. Unless a nova-compute for Ironic runs under the old name, add a --compute-host value for their host, or pass only NAME to apply it to all machines.",
  ),
  "N2I-D230": warning(
    "flavor with only one of the two deploy images",
    "Nova uses both or neither, so the flavor is unchanged. Fix the flavor, or specify it with plan --flavor.",
  ),
  "N2I-D231": warning(
    "flavor with nova-baremetal's deploy images",
    "On Juno and Kilo, the next rebuild boots them and hangs. Run plan with --deploy-kernel and --deploy-ramdisk, or with --flavor-images delete.",
  ),
  "N2I-D232": warning(
    "flavor requirement that no machine meets",
    "ComputeCapabilitiesFilter will find no machine. Remove the key, or add it to properties.capabilities.",
  ),
  "N2I-D233": warning(
    "flavor in use on other hosts",
    "Its deploy images are changed, but other drivers ignore them. Machine resources are not added.",
  ),
  "N2I-D234": warning(
    "uncertain resource class of a flavor",
    "Its machines have several classes or none. Add resources:CUSTOM_..=1 yourself, or set one resource_class for all its machines.",
  ),
  "N2I-D235": note(
    "the plan changes a deleted flavor",
    "Instances use the flavor, and Nova reads it for a rebuild.",
  ),
  "N2I-D236": warning(
    "different deploy images in flavors and machines",
    "Takeover boots those in driver_info, but a rebuild uses those in the flavor. Set the same images in the site document.",
  ),
  "N2I-D237": warning(
    "instance copies of a flavor with nova-baremetal's deploy images",
    "Kilo reads the images for a rebuild from this copy, regardless of the flavor, and the machine hangs. Do not rebuild these instances before the upgrade to Liberty, which does not read the copy.",
  ),
  "N2I-D238": note(
    "instance copies of a flavor with nova-baremetal's deploy images",
    "Liberty and later do not read the copy, because they use the deploy images in driver_info. The copy is unchanged.",
  ),
  "N2I-D240": warning(
    "flavors of this Nova are in nova_api",
    "Newton and later read them from nova_api, so those in nova are incomplete. Specify --nova-api-db.",
  ),
  "N2I-D241": warning(
    "aggregates and host mappings of this Nova are in nova_api",
    "nova2ironic does not change them, in nova_api or in nova. After the new nova-compute starts, run nova-manage cell_v2 discover_hosts, then openstack aggregate add host AGGREGATE HOST for each aggregate of the old hosts (openstack aggregate list --long). check --nova-api-db lists them.",
  ),
  "N2I-D242": blocking(
    "the compute host has a different hypervisor",
    "A nova-compute runs only one driver. The driver of a new host does not know the machines, and a kept host would lose its guests. Use --compute-host to specify a host whose nova-compute uses the ironic driver, or migrate the guests to another host. If a new host had that hypervisor before, delete those compute nodes first.",
  ),
  "N2I-D243": acceptable(
    "queued request for a nova-compute",
    "When it starts, it executes the request on a machine that another host now owns. While it is stopped, run rabbitmqctl purge_queue compute.HOST, and openstack server set --state active INSTANCE if task_state is set. Then accept the finding.",
  ),
  "N2I-D244": acceptable(
    "this Nova refuses a new nova-compute that finds instances",
    "Since 2024.1, a nova-compute without a service row stops if its driver lists instances. Start nova-compute on the new host once while Ironic is empty, stop it, then run plan again. If its conductor group or shard has no instance, accept the finding.",
  ),
  "N2I-D245": warning(
    "non-ASCII compute host name",
    "A latin1 or utf8mb3 column in nova may reject it, and apply then stops after the load into Ironic. Compare SHOW FULL COLUMNS of instances, services, compute_nodes and aggregate_hosts, or choose a different name.",
  ),
};

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
