import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D220 to D249: upgrade of Nova's rows. @source facts/nova-bm.md 4, 5.3 */
export const UPGRADE = {
  "N2I-D220": acceptable(
    "volumes are attached to the instance",
    "They depend on the old compute host and are lost at the next reboot. Detach them. If their loss is agreed, accept the finding.",
  ),
  "N2I-D221": acceptable(
    "the new compute host is in other aggregates",
    "The instance would change its availability zone. Add the new host to the same aggregates, or accept the finding.",
  ),
  "N2I-D222": blocking(
    "Nova changed the instance after extract",
    "The snapshot no longer matches Nova. Stop nova-compute and repeat extract.",
  ),
  "N2I-D223": note(
    "the old compute service stays enabled",
    "It has other instances or compute nodes. Move them, then disable the service with nova service-disable.",
  ),
  "N2I-D224": note(
    "the new compute host has no service yet",
    "Its nova-compute makes the service at its first start, and a compute node for each machine. The old compute nodes are soft-deleted.",
  ),
  "N2I-D225": acceptable(
    "no nova-compute will manage the instance",
    "Up to Kilo, a nova-compute destroys instances of other hosts at its start, and later ones do not manage them. Plan with --nova-db and --compute-host NAME, which changes host and node. If you change the row yourself, accept the finding.",
  ),
  "N2I-D226": acceptable(
    "Nova has the instance on another compute node",
    "instances.node is another live compute node than in nova_bm. Find out where it runs, and fix the wrong side. If it runs here, accept the finding, which changes host and node.",
  ),
  "N2I-D227": acceptable(
    "several compute hosts, but this Nova allows one",
    "Up to Mitaka, every nova-compute manages all nodes, and up to Kilo destroys instances of other hosts. Plan with --nova-db and --compute-host NAME. If you change the rows yourself, accept the finding.",
  ),
  "N2I-D228": warning(
    "no known machine for a --compute-host group or shard",
    "Blocked machines have no node with a group or shard. Compare the name with the site document, fix the machines, then repeat plan.",
  ),
  "N2I-D229": warning(
    "some machines keep their compute host, others move",
    "No --compute-host matches these machines. Also name their host, or give NAME alone for all, unless a nova-compute for Ironic runs under the old name.",
  ),
  "N2I-D230": warning(
    "flavor with one of two deploy images",
    "Nova uses both or none, so the flavor is unchanged. Fix the flavor, or name it with plan --flavor.",
  ),
  "N2I-D231": warning(
    "flavor with nova-baremetal's deploy images",
    "On Juno and Kilo, the next rebuild boots them and hangs. Give plan --deploy-kernel and --deploy-ramdisk, or --flavor-images delete.",
  ),
  "N2I-D232": warning(
    "flavor requirement that no machine meets",
    "ComputeCapabilitiesFilter will find no machine. Remove the key, or add it to properties.capabilities.",
  ),
  "N2I-D233": warning(
    "flavor in use on other hosts",
    "Its deploy images are changed, which other drivers ignore. Machine resources are not added.",
  ),
  "N2I-D234": warning(
    "uncertain resource class of a flavor",
    "Its machines have several classes or none. Add resources:CUSTOM_..=1 yourself, or set the same resource_class.",
  ),
  "N2I-D235": note(
    "change to a deleted flavor",
    "Instances use the flavor, and Nova reads it at a rebuild.",
  ),
  "N2I-D236": warning(
    "different deploy images in flavors and machines",
    "Take-over boots those of driver_info, but a rebuild those of the flavor. Set the same images in the site document.",
  ),
  "N2I-D237": warning(
    "instance copies of a flavor with nova-baremetal's deploy images",
    "Kilo reads the images of a rebuild from this copy, regardless of the flavor, and the machine hangs. Do not rebuild these instances before Liberty, which does not read it.",
  ),
  "N2I-D238": note(
    "instance copies of a flavor with nova-baremetal's deploy images",
    "Liberty and later do not read the copy, because the deploy images are those of driver_info. The copy is unchanged.",
  ),
  "N2I-D240": warning(
    "flavors of this Nova are in nova_api",
    "Newton and later read them there, so those in nova are incomplete. Give --nova-api-db.",
  ),
  "N2I-D241": warning(
    "aggregates and host mappings of this Nova are in nova_api",
    "nova2ironic changes neither these nor nova's own tables of them. After the new nova-compute starts, run nova-manage cell_v2 discover_hosts, then openstack aggregate add host AGGREGATE HOST for each aggregate of the old hosts (openstack aggregate list --long). check --nova-api-db names them.",
  ),
  "N2I-D242": blocking(
    "the compute host has another hypervisor",
    "A nova-compute runs one driver: that of a new host does not know the machines, and that of a kept host would lose its guests. Give --compute-host the host of a nova-compute for Ironic, or move the guests away. If a new host had that hypervisor before, delete those compute nodes first.",
  ),
  "N2I-D243": acceptable(
    "queued request for a nova-compute",
    "When it starts, it executes the request on a machine that another host now owns. While it is stopped, run rabbitmqctl purge_queue compute.HOST, and openstack server set --state active INSTANCE if task_state is set. Then accept the finding.",
  ),
  "N2I-D244": acceptable(
    "this Nova refuses a new nova-compute that finds instances",
    "Since 2024.1, a nova-compute without a service stops if its driver lists instances. Start that of the new host once while Ironic is empty, stop it, then repeat plan. If its conductor group or shard has no instance, accept the finding.",
  ),
  "N2I-D245": warning(
    "non-ASCII compute host name",
    "A latin1 or utf8mb3 column of nova may refuse it, and apply then stops after the load into Ironic. Compare SHOW FULL COLUMNS of instances, services, compute_nodes and aggregate_hosts, or choose another name.",
  ),
};
