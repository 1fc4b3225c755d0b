import { ending } from "../exit-status.ts";

const locked = ending("locked");
const refused = ending("refused");

/** Why the instance of one node is not moved to another. */
export const SWITCHOVER = {
  "N2I-E380": locked(
    "a node of the switchover is locked, or on its way to another state",
    "A conductor works on it; two hands on one machine undo each other's work.",
    "Wait until its reservation and target states are gone, then run the same command again.",
  ),
  "N2I-E381": locked(
    "a node is part of another switchover",
    "Its instance, its volumes or its place are being moved by somebody else.",
    "Wait until that switchover ended. Where its run is lost, look at both nodes, then remove the member of extra that is named.",
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
};
