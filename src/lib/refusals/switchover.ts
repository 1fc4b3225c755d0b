import { failed, halfway, locked, refused } from "../exit-status.ts";

/** Why the instance of one node is not moved to another, or not whole. */
export const SWITCHOVER = {
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
