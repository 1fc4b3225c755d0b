import { acceptable, blocking, note, warning } from "./kind.ts";

/** N2I-D250 to D279: what stands against moving machines between compute hosts. @source facts/systems.md A, facts/systems-measured.md A1+, A2+ */
export const MOVES = {
  "N2I-D250": blocking(
    "the source service is not forced down",
    "Its nova-compute may run, and would act on a machine that another host serves. Stop it, then openstack compute service set --down HOST nova-compute (before Liberty: --disable), and plan again; or let takeover fence a host that is dead.",
  ),
  "N2I-D251": blocking(
    "the source nova-compute still reports",
    "It works off its queue, and takes machines back, whatever its service row says. Stop it and wait until Nova calls it down.",
  ),
  "N2I-D252": blocking(
    "the source has no nova-compute service",
    "Nothing tells whether its nova-compute runs, and there is no row to fence it by. Compare the name with: nova2ironic host list. If the host is down and its service record was deleted, take its machines over with host takeover.",
  ),
  "N2I-D253": blocking(
    "the destination has no nova-compute service",
    "Start its nova-compute first, then plan again. From 29.0.0 (2024.1) on a nova-compute without a services row refuses to start once instances name it.",
  ),
  "N2I-D254": blocking(
    "the destination is forced down",
    "Nova would not schedule to it, and its nova-compute may be fenced. openstack compute service set --up HOST nova-compute, once it may serve again.",
  ),
  "N2I-D255": blocking(
    "the destination does not report",
    "The machine would be served by nobody. Start its nova-compute, and plan again.",
  ),
  "N2I-D256": blocking(
    "the destination is disabled",
    "An idle machine there is never scheduled to. Enable its service, or name another host.",
  ),
  "N2I-D257": blocking(
    "the destination is not a host of the Ironic driver",
    "Its live compute nodes are of another hypervisor, which knows no such machine. Name a host whose nova-compute has the ironic driver.",
  ),
  "N2I-D258": blocking(
    "the destination has no host mapping in this cell",
    "Nova's API finds no instance on a host that is not mapped, or is mapped to another cell. Run nova-manage cell_v2 discover_hosts, or name a host of this cell.",
  ),
  "N2I-D259": note(
    "nova_api was not looked at",
    "Host mappings, and since Newton aggregates, are there: whether both hosts are of one cell and of the same aggregates is not known. Give --nova-api-db.",
  ),
  "N2I-D260": acceptable(
    "Nova is working on the instance",
    "instances.task_state is set, or vm_state is building: what was asked for is under way, or lies in the queue of a dead host. Wait until it ends. Of a dead host it never does: empty its queue, then accept this, and takeover clears task_state with the move. An instance in building stays so: delete it.",
  ),
  "N2I-D261": blocking(
    "more than one instance on the machine",
    "Only one can be its tenant. Delete those that the node's instance_uuid does not name, then plan again.",
  ),
  "N2I-D262": blocking(
    "more than one live compute node of the machine",
    "Two hosts offer it, or a stale row was left. Delete the one that is wrong (openstack hypervisor list), then plan again.",
  ),
  "N2I-D263": blocking(
    "a record of an evacuation names the instance",
    "The nova-compute it was evacuated from destroys the tenant at its next start. Keep the row, set its status to completed, then plan again.",
  ),
  "N2I-D264": blocking(
    "the destination is in other aggregates",
    "The instance would change its availability zone, and what may be scheduled to the machine. Make the aggregates equal, or give --force-aggregates.",
  ),
  "N2I-D265": blocking(
    "Ironic's node names another instance than Nova",
    "One of both is wrong, and the tenant of the other would be lost sight of. Compare openstack baremetal node show and openstack server show.",
  ),
  "N2I-D266": warning(
    "a request waits in the message queue of the old host",
    "It is executed when that nova-compute starts again, though another host serves the machine by then: the tenant is switched off. Empty the queue before it starts.",
  ),
  "N2I-D267": warning(
    "the message queue of the old host must be emptied",
    "What was asked of a dead host lies there and is done when it returns; nova-compute does not compare instances.host, and forced_down does not keep it from its queue or from idle machines. Do not start it before.",
  ),
  "N2I-D268": blocking(
    "the machine and its instance name different hosts",
    "Whoever serves it is not known by its rows. Start the nova-compute that the instance names, which takes the compute node by itself. If that host is dead, give the host of the compute node as --to. Otherwise correct the row that is wrong.",
  ),
  "N2I-D269": blocking(
    "the machine is not one of the Ironic driver",
    "Its compute node is of another hypervisor: moving its row moves nothing.",
  ),
  "N2I-D270": warning(
    "the source has no nova-compute service to fence",
    "Its service record was deleted, so no row shows whether its nova-compute runs, and no row can be forced down. A nova-compute that still runs makes no new record until it is restarted, so no row shows it. Make sure that the host is down. If its nova-compute starts, Nova makes a new service record, and verify exits with 2 until host readmit.",
  ),
};
