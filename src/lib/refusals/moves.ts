import { failed, halfway, locked, refused } from "../exit-status.ts";

/** Why the instance of one node is not moved to another, or not whole. */
const SWITCHOVER = {
  "N2I-E380": locked(
    "a node of the switchover is locked, or on its way to another state",
    "A conductor works on it; two hands on one machine undo each other's work.",
    "Wait until its reservation and target states are gone, then run the same command again.",
  ),
  "N2I-E381": locked(
    "a node is part of another switchover",
    "Its instance, its volumes or its place are being moved by somebody else.",
    "Wait until that switchover has ended. If its run is lost, look at both nodes, then remove the mark with openstack baremetal node unset UUID --extra nova2ironic_switchover.",
  ),
  "N2I-E382": refused(
    "the source cannot be booted from its volume by another node",
    "A switchover moves volumes; what is on a machine's own disks dies with it.",
    "Correct what is named of the source, where it is wrong; otherwise there is no switchover for this machine.",
  ),
  "N2I-E383": refused(
    "the source is in no state to be left",
    "Its instance may not run there, or an operator protects it.",
    "Settle what is named, then run the same command again.",
  ),
  "N2I-E384": refused(
    "the destination is no spare",
    "It is in use, kept out of service, or has volumes of its own.",
    "Name another node; node list --spares lists those that fit.",
  ),
  "N2I-E385": refused(
    "the instance of the source is a server of Nova",
    "Nova would go on managing it on the old node, and stop it on the new one.",
    "Give --nova-db. Or stop whatever acts on it, give --leave-nova, and change Nova's rows by the commands that are printed.",
  ),
  "N2I-E386": refused(
    "the destination is not identical hardware",
    "An instance that finds other hardware may not boot, or not find its network.",
    "Name another node; node list --spares lists those that fit. --identical FILE says what is compared.",
  ),
  "N2I-E387": refused(
    "there is no suitable destination",
    "No node in manageable or enroll is free and identical to the source.",
    "Enrol a spare; node list --spares --all says what the nearest one lacks.",
  ),
  "N2I-E388": halfway(
    "the source is not known to be off",
    "A machine that runs on while another has its volumes destroys them.",
    "Pull its power, then run the same command with --source-confirmed-off; or give --fence-command, or rollback.",
  ),
  "N2I-E389": failed(
    "the switchover failed, and everything is as it was",
    "A step was refused before the destination was deployed; what was done before it was taken back.",
    "Settle what is named, then run the same command again.",
  ),
  "N2I-E390": halfway(
    "the switchover stopped once the destination's deploy was begun",
    "From there on it only goes forward: the destination may run with the volumes.",
    "Settle what is named, then run the same command again; status says how far it came.",
  ),
  "N2I-E391": refused(
    "there is no way back for this switchover",
    "The destination's deploy was begun: it may run with the volumes of the source.",
    "Run node switchover again to end it; a second switchover brings the instance back.",
  ),
  "N2I-E392": refused(
    "Nova's rows are not such that the server can go on in another node",
    "Nova works on it, names other nodes, or does not know the destination; its row would be wrong afterwards.",
    "Settle what is named; a nova-compute takes a new node up within a minute. Then run the same command again.",
  ),
};

/** Why machines are not moved from one compute host to another, nor given a server record, nor left for a spare, and what waits for them. */
export const MOVES = {
  "N2I-E314": refused(
    "requests wait in the message queue of a nova-compute",
    "It executes them when it starts again, on a machine that another host has by then: a tenant is switched off.",
    "Run the commands named on the message broker, openstack server set --state active INSTANCE where task_state is set, then the same command again with --allow-queued-requests.",
  ),
  "N2I-E315": refused(
    "the run is of another kind",
    "Its run.json names one kind: migration, takeover, switchover or manage. This command works with another kind.",
    "Give the command a --run of its own.",
  ),
  "N2I-E316": refused(
    "the host is not dead, or not fenced",
    "A nova-compute that runs would act on machines that another host serves.",
    "Stop it, or look why it reports again; then run the same command once more.",
  ),
  "N2I-E317": refused(
    "no machine can be moved",
    "Something stands against each of them, and nothing was written.",
    "Remove what is named, then plan again; host plan lists every finding.",
  ),
  "N2I-E319": refused(
    "the host may not come back yet",
    "What waits in its queue would be done on machines that another host serves.",
    "Settle what is named, then run the same command again.",
  ),
  "N2I-E370": refused(
    "the machine cannot be managed",
    "A record would claim a machine that somebody else has, or whose network nobody knows.",
    "Settle what is named; node list --adoptable --all says it of every machine.",
  ),
  ...SWITCHOVER,
};

/** Of leases and locks in nova_bm. */
export const LEASE_REFUSALS = {
  "N2I-E360": refused(
    "nova_bm is not extended for leases",
    "Leases and locks are kept in columns and tables of their own beside nova-baremetal's.",
    "Run host schema extend once with a user who may ALTER and CREATE; host schema status says what is there.",
  ),
  "N2I-E361": refused(
    "leases or locks are in use",
    "Whoever holds them would lose what tells it that a machine is its own.",
    "End the agents and finish or undo the moves that are named, then run the same command again.",
  ),
  "N2I-E362": locked(
    "another holds the lock of a host, a machine or an instance",
    "Two that act on one machine at once would undo each other's work.",
    "Wait until it has ended; a lock whose holder died expires by itself.",
  ),
  "N2I-E363": halfway(
    "this host was fenced",
    "Another host took its machines over: what it does to them now would disturb their tenants.",
    "Stop nova-compute on this host, and look with host list who serves its machines. host readmit with --nova-bm-db lets it come back.",
  ),
  "N2I-E364": refused(
    "the clocks of the database's servers differ too much",
    "A lease that one node has just renewed would look expired on another.",
    "Let NTP set their clocks, or give a longer --ttl.",
  ),
} as const;
