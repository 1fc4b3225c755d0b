import { ends } from "../exit-status.ts";

/** Switchovers. */
const SWITCHOVER = {
  "N2I-E380": ends.locked(
    "a node in the switchover is locked or changing state",
    "A conductor is working on it, and concurrent operations would undo each other's changes.",
    "Wait until its reservation and target states are clear, then repeat the command.",
  ),
  "N2I-E381": ends.locked(
    "a node is part of another switchover",
    "The other switchover moves its instance or volumes, or uses it as the destination.",
    "Wait until that switchover ends. If its run is lost, check both nodes, then run openstack baremetal node unset UUID --extra nova2ironic_switchover.",
  ),
  "N2I-E382": ends.refused(
    "no other node can boot from the source's volumes",
    "A switchover moves only volumes, so data on the machine's own disks would be lost.",
    "If the reported problem can be corrected, correct it. Otherwise this machine cannot be switched over.",
  ),
  "N2I-E383": ends.refused(
    "the state of the source does not allow a switchover",
    "Its instance may not be running there, or an operator has protected it.",
    "Resolve the named condition, then repeat the command.",
  ),
  "N2I-E384": ends.refused(
    "the destination is not a spare",
    "It is in use or out of service, or has volumes of its own.",
    "Choose a node from node list --spares.",
  ),
  "N2I-E385": ends.refused(
    "the instance of the source is a Nova server",
    "Nova would continue to manage it on the old node, and would stop it on the new one.",
    "Specify --nova-db. Alternatively, stop every service that acts on the server, use --leave-nova, and change Nova's rows with the printed commands.",
  ),
  "N2I-E386": ends.refused(
    "the destination is not identical hardware",
    "On different hardware, the instance may not boot or find its network.",
    "Choose a node from node list --spares. --identical FILE defines which properties are compared.",
  ),
  "N2I-E387": ends.refused(
    "no suitable destination",
    "No node in manageable or enroll is free and identical to the source.",
    "Enroll a spare. node list --spares --all shows why the closest node does not match.",
  ),
  "N2I-E388": ends.halfway(
    "the source is not confirmed as powered off",
    "If the source runs while another machine uses its volumes, their data is destroyed.",
    "Disconnect its power, then repeat the command with --source-confirmed-off. Alternatively, specify --fence-command or run rollback.",
  ),
  "N2I-E389": ends.failed(
    "the switchover failed and was rolled back",
    "A step failed before the deployment of the destination began.",
    "Resolve the reported problem, then repeat the command.",
  ),
  "N2I-E390": ends.halfway(
    "the switchover stopped after the destination's deployment began",
    "It can only be completed, because the destination may already be running from the volumes.",
    "Resolve the reported problem, then repeat the command. status shows the progress.",
  ),
  "N2I-E391": ends.refused(
    "the switchover cannot be rolled back",
    "The deployment of the destination has begun, so the destination may be running from the source's volumes.",
    "Run node switchover again to complete it. To move the instance back, run a second switchover.",
  ),
  "N2I-E392": ends.refused(
    "Nova's rows do not allow the switchover",
    "Nova is working on the server, has it on a different node, or does not know the destination.",
    "Resolve the reported problem, then repeat the command. nova-compute adds a new node within a minute.",
  ),
};

/** Moves between compute hosts, server records, and switchovers. */
export const MOVES = {
  "N2I-E314": ends.refused(
    "queued requests for a nova-compute",
    "When nova-compute starts, it executes the requests on a machine that another host now owns, and powers off a tenant's server.",
    "Run the named commands on the message broker, and openstack server set --state active INSTANCE if task_state is set. Then repeat the command with --allow-queued-requests.",
  ),
  "N2I-E315": ends.refused(
    "the run is of a different kind",
    "Its kind is recorded in run.json: migration, takeover, switchover or manage. This command requires a different kind.",
    "Use a separate run folder for this command (--run).",
  ),
  "N2I-E316": ends.refused(
    "the host is not down or not fenced",
    "A running nova-compute would act on machines that another host serves.",
    "Stop nova-compute, or find out why it still reports, then repeat the command.",
  ),
  "N2I-E317": ends.refused(
    "no machine can be moved",
    "Each machine has a blocking finding, so nothing was written.",
    "Resolve the findings, then repeat host plan, which lists all of them.",
  ),
  "N2I-E319": ends.refused(
    "the host cannot be readmitted yet",
    "It would execute its queued requests on machines that another host serves.",
    "Resolve the listed conditions, then repeat the command.",
  ),
  "N2I-E370": ends.refused(
    "the machine cannot be managed",
    "A record would claim a machine that has a different owner or an unknown network.",
    "Resolve the listed conditions. node list --adoptable --all shows them for every machine.",
  ),
  ...SWITCHOVER,
};

/** Leases and locks in nova_bm. */
export const LEASE_REFUSALS = {
  "N2I-E360": ends.refused(
    "nova_bm is not extended for leases",
    "Leases and locks need additional columns and tables in nova_bm.",
    "Run host schema extend once as a user with ALTER and CREATE. host schema status shows the existing tables.",
  ),
  "N2I-E361": ends.refused(
    "leases or locks are in use",
    "Their holders could no longer confirm that they own a machine.",
    "Stop the agents, and complete or undo the listed moves, then repeat the command.",
  ),
  "N2I-E362": ends.locked(
    "another process holds the lock on a host, machine or instance",
    "Two concurrent operations on one machine would undo each other.",
    "Wait until it ends. If the holder died, its lock expires.",
  ),
  "N2I-E363": ends.halfway(
    "this host was fenced",
    "Another host has taken over its machines, and this host would disturb their tenants.",
    "Stop nova-compute on this host, and find the new owners with host list. To readmit this host, run host readmit with --nova-bm-db.",
  ),
  "N2I-E364": ends.refused(
    "the clocks of the database servers differ too much",
    "A lease that one node has just renewed would appear expired on another.",
    "Synchronize their clocks with NTP, or use a longer --ttl.",
  ),
} as const;
