import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { halfway, locked, refused, usage } = EXIT_STATUS;

/** N2I-E300 to E319: why something that changes rows stops, or does not begin. */
export const ACTING = {
  "N2I-E300": {
    exit: refused.status,
    title: "the plan is stale",
    why: "The target no longer is as it was when the plan was made.",
    fix: "Run plan again, look at the difference, then apply.",
  },
  "N2I-E301": {
    exit: halfway.status,
    title: "apply, rollback or handover stopped midway",
    why: "Some batches or machines are committed, the rest is not; the journal says which.",
    fix: "Remove the cause and run the same command again: it goes on where it stopped.",
  },
  "N2I-E302": {
    exit: locked.status,
    title: "another nova2ironic works on this target or run",
    why: "Two loads at once could each undo the other's work.",
    fix: "Wait for the other one to end; its lock dies with its connection.",
  },
  "N2I-E303": {
    exit: refused.status,
    title: "not confirmed",
    why: "This command writes to a service, and nobody said yes.",
    fix: "Give --yes where there is no terminal to ask.",
  },
  "N2I-E304": {
    exit: refused.status,
    title: "the plan has blocked machines",
    why: "A blocked machine cannot be carried over safely as its data stands.",
    fix: "Fix the data, accept the finding in the site document, or leave them out with --skip-blocked.",
  },
  "N2I-E305": {
    exit: usage.status,
    title: "rollback needs a scope",
    why: "Undoing everything must be said, not assumed.",
    fix: "Give --all, or --node UUID for each machine to undo.",
  },
  "N2I-E306": {
    exit: usage.status,
    title: "a machine named is not in this run",
    why: "Its uuid or bm_nodes.id does not occur in the plan.",
    fix: "List the machines with: nova2ironic show RUN/plan",
  },
  "N2I-E308": {
    exit: refused.status,
    title: "this Ironic cannot hold a staged load",
    why: "Without a reason our maintenance cannot be told from an operator's, and must not be cleared.",
    fix: "Load without --staged while no conductor runs, and start them one by one.",
  },
  "N2I-E310": {
    exit: refused.status,
    title: "nova-compute is still running",
    why: "It would write the rows again that are changed here, act on machines that Ironic is to manage, and delete compute nodes and resource providers of nodes that a rollback takes away.",
    fix: "Stop nova-compute on the hosts named, wait a minute, then run the same command again; --allow-running-compute goes on all the same. Where a rollback ran beside one (compute nodes gone, power_state 0): leave nova-compute stopped, run power, plan and apply, then start it; that brings them back.",
  },
  "N2I-E311": {
    exit: refused.status,
    title: "Nova is part of this, and was not given",
    why: "Machines that are loaded while Nova still names their old host or images are not carried over, and a nova-compute that still runs would act on them. One that runs while a rollback removes nodes deletes their compute nodes and resource providers.",
    fix: "Give --nova-db, or --leave-nova to act on Ironic alone.",
  },
  "N2I-E312": {
    exit: refused.status,
    title: "Ironic holds nodes that this run did not load",
    why: "The upgrade loads into an empty Ironic; nodes of others may mean that it is the wrong one.",
    fix: "Look whose they are. If it is the right Ironic, run plan again with --beside-others, then apply.",
  },
  "N2I-E222": {
    exit: refused.status,
    title: "this run folder is a copy",
    why: "Since it was taken, rows of its journal may have become another run's, and a rollback would take them.",
    fix: "Work in the first one; if it is lost for good, remove run.place in this one.",
  },
} as const satisfies Record<string, Refusal>;
