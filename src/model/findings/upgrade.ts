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
