import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D220 to D249: what stands in the way of Nova's own side. @source facts/nova-bm.md 4, 5.3 */
export const UPGRADE = {
  "N2I-D220": acceptable(
    "volumes are attached to the instance",
    "They hang on the old compute host and are lost at the next reboot. Detach them; accept it when their loss is agreed.",
  ),
  "N2I-D221": acceptable(
    "the new compute host is in other aggregates",
    "The instance would change its availability zone. Put the new host into the same aggregates, or accept it.",
  ),
  "N2I-D222": blocking(
    "Nova changed the instance since extract",
    "The snapshot is not what Nova says now. Stop nova-compute and extract again.",
  ),
  "N2I-D223": note(
    "the old compute service stays enabled",
    "Other instances or compute nodes are still on it. Move them, then disable the service with nova service-disable.",
  ),
  "N2I-D224": note(
    "the new compute host has no service yet",
    "Its nova-compute makes it at its first start, and a compute node for each machine. The old ones are soft-deleted.",
  ),
  "N2I-D225": acceptable(
    "no nova-compute will manage the instance",
    "Through Kilo a nova-compute destroys, when it starts, instances whose host is not its own; later ones do not manage them. Plan with --nova-db and --compute-host NAME, which changes host and node; accept it when you change the row yourself.",
  ),
  "N2I-D226": acceptable(
    "Nova places the instance on another compute node",
    "instances.node is a live compute node, and nova_bm has the instance on this machine. Find out where it runs and fix the side that is wrong; accept it when it runs here: host and node are then changed.",
  ),
  "N2I-D227": acceptable(
    "machines have several compute hosts, and this Nova allows one",
    "Through Mitaka every nova-compute manages all nodes; through Kilo it also destroys instances of other hosts. Plan with --nova-db and --compute-host NAME; accept it when you change the rows yourself.",
  ),
  "N2I-D228": warning(
    "no machine is known to be of a group or shard that --compute-host names",
    "Blocked machines have no node that would tell. Compare the name with the site document's, fix them, then plan again.",
  ),
  "N2I-D229": warning(
    "machines keep their compute host, and others are moved",
    "No --compute-host fits them. Name their host too, or NAME alone for all, unless a nova-compute for Ironic runs under the old name.",
  ),
  "N2I-D230": warning(
    "a flavor names one deploy image of two",
    "Nova takes both or none, so it is left as it is. Fix the flavor, or name it with plan --flavor.",
  ),
  "N2I-D231": warning(
    "a flavor still names nova-baremetal's deploy images",
    "On Juno and Kilo the next rebuild boots them and hangs. Give plan --deploy-kernel and --deploy-ramdisk, or --flavor-images delete.",
  ),
  "N2I-D232": warning(
    "a flavor wants what no machine advertises",
    "ComputeCapabilitiesFilter will find no machine. Remove the key, or give it in properties.capabilities.",
  ),
  "N2I-D233": warning(
    "a flavor is used on other hosts too",
    "Its deploy images are changed, which other drivers ignore; resources of a machine are not added.",
  ),
  "N2I-D234": warning(
    "the resource class of a flavor is not certain",
    "Its machines have several classes or none. Add resources:CUSTOM_..=1 yourself, or set resource_class alike.",
  ),
  "N2I-D235": note(
    "a deleted flavor is changed too",
    "Instances use it still, and Nova reads it at a rebuild.",
  ),
  "N2I-D236": warning(
    "flavors and machines name different deploy images",
    "Take-over boots those of driver_info, a rebuild those of the flavor. Give the same in the site document.",
  ),
  "N2I-D237": warning(
    "instances carry a flavor that names nova-baremetal's deploy images",
    "Kilo takes the images of a rebuild from this copy, whatever the flavor says by now, and the machine hangs. Rebuild none of them before Liberty, which does not read it.",
  ),
  "N2I-D238": note(
    "instances carry a flavor that names nova-baremetal's deploy images",
    "From Liberty on nothing reads them: deploy images are those of driver_info. The copy stays as it is.",
  ),
  "N2I-D240": warning(
    "flavors of this Nova are in nova_api",
    "Newton and later read them there, so those in nova are not all. Give --nova-api-db.",
  ),
  "N2I-D241": warning(
    "aggregates and host mappings of this Nova are in nova_api",
    "They are left to you, and nova's own tables of them as they are: once the new nova-compute started run nova-manage cell_v2 discover_hosts, then openstack aggregate add host AGGREGATE HOST for each aggregate of the old hosts (openstack aggregate list --long; check --nova-api-db names them).",
  ),
  "N2I-D242": blocking(
    "the compute host runs another hypervisor",
    "A nova-compute runs one driver: that of a new host knows nothing of machines, that of a host that is kept for them would know nothing of its guests any more. Give --compute-host the host of a nova-compute for Ironic, or move the guests away; if a new host was that hypervisor's once, delete those compute nodes first.",
  ),
  "N2I-D243": acceptable(
    "a request waits in the message queue of a nova-compute",
    "It is executed when that nova-compute starts again, on a machine that another host has by then. While it is stopped run rabbitmqctl purge_queue compute.HOST, and openstack server set --state active INSTANCE where task_state is set; then accept it.",
  ),
  "N2I-D244": acceptable(
    "this Nova refuses a new nova-compute that finds instances",
    "Since 2024.1 a nova-compute without a service stops at its start when its driver lists instances. Start the one of the new host once while Ironic is still empty, stop it, then plan again; accept it when its conductor group or shard has no instance.",
  ),
  "N2I-D245": warning(
    "the name of a compute host is not plain ASCII",
    "A column of nova in latin1 or utf8mb3 may not hold it: the database then refuses the change, and apply stops after Ironic was loaded. Compare SHOW FULL COLUMNS of instances, services, compute_nodes and aggregate_hosts, or choose another name.",
  ),
};
