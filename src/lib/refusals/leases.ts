import { halfway, locked, refused } from "../exit-status.ts";

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
