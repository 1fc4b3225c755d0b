import { bug, denied, failed, halfway, locked, refused, usage } from "./exit-status.ts";
import { LEASE_REFUSALS, MOVES } from "./refusals/moves.ts";
import { REACHED } from "./refusals/reached.ts";

/**
 * Every reason this tool stops for: what it is, why the tool stops, and what the operator does next.
 * `nova2ironic explain CODE` prints a row. Codes are never reused.
 */
export const REFUSALS = {
  // The command line, and the files it names.
  "N2I-E100": usage(
    "the command line is wrong",
    "An option is unknown, missing, or has a value of the wrong form.",
    "Run the command with --help and compare.",
  ),
  "N2I-E101": usage(
    "the command line contains a password",
    "Every user of the machine can read it in the process list, and the shell history keeps it.",
    "Give the database as file:PATH, env:NAME or conf:PATH instead.",
  ),
  "N2I-E102": usage(
    "a database address cannot be read",
    "The address has no known scheme, or a part of it is missing.",
    "Use mysql://user@host/db, postgresql://user@host/db or sqlite:////absolute/path.",
  ),
  "N2I-E103": usage(
    "a document is malformed",
    "If the tool ignored an unknown part of a mapping, a site document or a list, data could be lost.",
    "Correct each fault listed with its path, then run the command again.",
  ),
  "N2I-E104": usage(
    "a configuration file cannot be read",
    "nova.conf determines the driver of machines, and ironic.conf the speed of the take-over.",
    "Correct the file at the line in the message.",
  ),
  "N2I-E105": usage(
    "a log cannot be followed",
    "Some failures of a take-over are only in the conductor's log.",
    "Check the path and the rights of this user, or remove --conductor-log.",
  ),
  "N2I-E106": usage(
    "the cloud's settings cannot be used",
    "The login is in OS_* variables or clouds.yaml. A value there is missing or unknown.",
    "Correct the value in the message, or add --ironic-url and --os-cloud.",
  ),
  "N2I-E107": usage(
    "a name on the command line matches nothing",
    "If a name matches no machine or flavor, it changes nothing, and later checks cannot detect the error.",
    "Compare the name with the listed names, or remove the option.",
  ),
  "N2I-E108": usage(
    "the file of connections cannot be used",
    "It contains the databases, services and files that a command reads and writes.",
    "Correct each fault listed, or run the command with --config and another file.",
  ),
  "N2I-E109": usage(
    "a policy file cannot be used",
    "An unknown rule could allow a user whom Nova refuses.",
    "Correct the rule at the line in the message, or check it with oslopolicy-checker.",
  ),
  // The run folder and its artefacts.
  "N2I-E110": usage(
    "the run folder cannot be used",
    "A run is a private folder with the files of one migration, takeover, switchover or set of managed machines.",
    "Name the folder of a run that this user owns, or run the command that makes the missing file.",
  ),
  "N2I-E111": refused(
    "an artefact is truncated",
    "The file has no footer: the stage that wrote it did not finish, or the file was cut.",
    "Run the stage that writes it again.",
  ),
  "N2I-E112": refused(
    "a file of the run was changed after it was written",
    "An artefact has a digest of its content in its footer, each line of a journal one of the line before it.",
    "Run the stage that writes an artefact again, and put a journal back from a copy.",
  ),
  "N2I-E113": refused(
    "a file is not the required artefact",
    "Its header names another kind or another version of the format.",
    "Give the file that the previous stage wrote with this version of the tool.",
  ),
  "N2I-E114": refused(
    "artefacts of different runs are mixed",
    "The digest chain between snapshot and plan is broken.",
    "Run plan again on the snapshot in this folder.",
  ),
  "N2I-E115": refused(
    "the key file does not open this run's secrets",
    "The secrets in the artefacts were encrypted with another key.",
    "Give the key file of this run's extract (--key-file).",
  ),
  "N2I-E116": usage(
    "the certificate of the service cannot be used",
    "The service cannot offer TLS to its clients.",
    "Name the files of the certificate and of its key (PEM), and allow this user to read both.",
  ),
  "N2I-E117": failed(
    "the service cannot listen on the address",
    "Another process listens on it, or it is not an address of this host.",
    "Choose another --listen HOST:PORT, or end the other process.",
  ),
  "N2I-E118": denied(
    "this user may not listen on that port",
    "Only an administrator can use ports below 1024.",
    "Choose a port above 1023, and let a load balancer forward the well-known port.",
  ),
  "N2I-E120": failed(
    "a file cannot be written",
    "The disk is full, read-only, or this user may not write there.",
    "Free space or choose another run folder, then run the same command again.",
  ),
  ...REACHED,
  // Something that changes rows stops, or does not begin.
  "N2I-E300": refused(
    "the plan is stale",
    "The target no longer is as it was when the plan was made.",
    "Run plan again, look at the difference, then apply.",
  ),
  "N2I-E301": halfway(
    "apply, rollback or handover stopped midway",
    "Some batches or machines are committed, the rest is not; the journal says which.",
    "Remove the cause and run the same command again: it goes on where it stopped.",
  ),
  "N2I-E302": locked(
    "another nova2ironic works on this target or run",
    "Two loads at once could each undo the other's work.",
    "Wait for the other one to end; its lock dies with its connection.",
  ),
  "N2I-E303": refused(
    "not confirmed",
    "This command writes to a service, and nobody said yes.",
    "Give --yes where there is no terminal to ask.",
  ),
  "N2I-E304": refused(
    "the plan has blocked machines",
    "A blocked machine cannot be carried over safely as its data stands.",
    "Fix the data, accept the finding in the site document, or leave them out with --skip-blocked.",
  ),
  "N2I-E305": usage(
    "rollback needs a scope",
    "Undoing everything must be said, not assumed.",
    "Give --all, or --node UUID for each machine to undo.",
  ),
  "N2I-E306": usage(
    "a machine named is not in this run",
    "Its uuid or bm_nodes.id does not occur in the plan.",
    "List the machines with: nova2ironic show RUN/plan",
  ),
  "N2I-E307": refused(
    "the power readings are too old, or not the plan's",
    "A machine switched since then would be recorded wrongly, and the conductor acts on records.",
    "Run power again, then plan, then apply.",
  ),
  "N2I-E308": refused(
    "this Ironic cannot hold a staged load",
    "Without a reason our maintenance cannot be distinguished from an operator's, and must not be cleared.",
    "Load without --staged while no conductor runs, and start them one by one.",
  ),
  "N2I-E310": refused(
    "nova-compute is still running",
    "It would write the rows again that are changed here, act on machines that Ironic is to manage, and delete compute nodes and resource providers of nodes that a rollback takes away.",
    "Stop nova-compute on the hosts named, wait a minute, then run the same command again; --allow-running-compute goes on all the same. Where a rollback ran beside one (compute nodes gone, power_state 0): leave nova-compute stopped, run power, plan and apply, then start it; that brings them back.",
  ),
  "N2I-E311": refused(
    "Nova is part of this, and was not given",
    "Machines that are loaded while Nova still names their old host or images are not carried over, and a nova-compute that still runs would act on them. One that runs while a rollback removes nodes deletes their compute nodes and resource providers.",
    "Give --nova-db, or --leave-nova to act on Ironic alone.",
  ),
  "N2I-E312": refused(
    "Ironic holds nodes that this run did not load",
    "The upgrade loads into an empty Ironic; nodes of others may mean that it is the wrong one.",
    "Look whose they are. If it is the right Ironic, run plan again with --beside-others, then apply.",
  ),
  "N2I-E318": locked(
    "a transaction of another run has not ended",
    "Its client is gone or does not answer, and the server still works on it: a COMMIT that waits for a standby can add rows later.",
    "Bring the standby back or free the disk; or end that session on the server (pg_terminate_backend, KILL). Then run the same command again.",
  ),
  "N2I-E320": refused(
    "nothing is loaded that could be finished",
    "finish ends the window of a load; there was none, or it was begun from another run folder.",
    "Give the --run that apply was given; status says what is true of it.",
  ),
  "N2I-E321": refused(
    "this run is finished",
    "Tenants use their machines again. What takes machines back or loads them once more would act on machines that Nova manages.",
    "If that is what you want: protect the machines again with finish --undo, or give --after-finish. If you dropped nova_bm, restore its dump first. A machine that was deleted, rebuilt or given to another tenant since is left and listed.",
  ),
  "N2I-E325": refused(
    "the plan loads no machine",
    "A load of nothing would still change flavors and hosts in Nova, and look like a success.",
    "Fix the data or accept the findings in the site document, then run plan again; --skip-blocked does not help here.",
  ),
  "N2I-E326": refused(
    "there is nothing to compare",
    "Equal would be true of nothing: this look compared no row, no machine and no setting.",
    "Run status to see what the run holds; check --run, --node and the databases given.",
  ),
  "N2I-E327": refused(
    "the window of this run is closed",
    "Its maintenance period was declared, and what writes belongs into it.",
    "Open it with: nova2ironic window open; or say why not with --no-window REASON, which is recorded.",
  ),
  "N2I-E328": refused(
    "the run stops here",
    "What comes next is a decision, or something a person has to do first.",
    "Do what is named, then give the same run command: it goes on where it stopped.",
  ),
  "N2I-E329": refused(
    "a hook did not succeed",
    "A hook that fails stops the run: what it was to prepare, or to check, is not as it should be.",
    "See what it said in log.jsonl, then give the same run command. The stage of a before- hook runs again with its hooks. An after- hook does not run again where its stage is done: do by hand what it was to do.",
  ),
  ...MOVES,
  // The end of nova_bm.
  "N2I-E340": refused(
    "nova_bm cannot be retired yet",
    "It is the only record of machines that are not in Ironic as planned.",
    "Settle the conditions that do not hold, then run retire again.",
  ),
  // A rehearsal on copies of Ironic's and Nova's databases.
  "N2I-E351": refused(
    "the database is not a copy for a rehearsal",
    "A rehearsal loads machines: it must not write to the plan's own databases or to a database that services use.",
    "Restore a backup of the database under another name and give that database.",
  ),
  "N2I-E352": refused(
    "this run cannot be rehearsed",
    "A rehearsal runs the whole plan on copies of the databases before apply changes Ironic.",
    "Rehearse a plan for Ironic's database before apply, with --ironic-db for its copy.",
  ),
  // This host, and what its operator gave it.
  ...LEASE_REFUSALS,
  "N2I-E400": failed(
    "this host cannot ask for power states",
    "No socket can be opened, or ssh cannot be run: that says nothing about any machine.",
    "Remove the cause named, then run power again: it goes on where it stopped.",
  ),
  "N2I-E410": usage(
    "a TFTP tree cannot be used",
    "Boot files are read from the compute hosts' trees, and staged into the conductor's.",
    "Name the folder that the TFTP server serves, or a copy of it.",
  ),
  "N2I-E900": bug(
    "internal error",
    "The tool met a state its authors did not think of.",
    "Report it with the text above; the journal is intact.",
  ),
};

export type RefusalCode = keyof typeof REFUSALS;
