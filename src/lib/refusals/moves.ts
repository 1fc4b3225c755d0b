import { refused } from "../exit-status.ts";
import { SWITCHOVER } from "./switchover.ts";

/** Why machines are not moved from one compute host to another, nor given a server record, nor left for a spare, and what waits for them. */
export const MOVES = {
  "N2I-E314": refused(
    "requests wait in the message queue of a nova-compute",
    "It executes them when it starts again, on a machine that another host has by then: a tenant is switched off.",
    "Run the commands named on the message broker, openstack server set --state active INSTANCE where task_state is set, then the same command again with --allow-queued-requests.",
  ),
  "N2I-E315": refused(
    "the run is of another kind",
    "A run carries machines over to Ironic, moves them between compute hosts, or gives them their server record.",
    "Give each its own --run: host plan, move and takeover have one, node manage another, extract to retire a third.",
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
