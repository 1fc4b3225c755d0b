import { ends } from "./exit-status.ts";
import { LEASE_REFUSALS, MOVES } from "./refusals/moves.ts";
import { REACHED } from "./refusals/reached.ts";

/** Every reason why nova2ironic stops: title, reason, fix. Codes are never reused. */
export const REFUSALS = {
  // Command line, and the files it names.
  "N2I-E100": ends.usage(
    "invalid command line",
    "An option is unknown or missing, or has an invalid value.",
    "Compare the command with its --help.",
  ),
  "N2I-E101": ends.usage(
    "password on the command line",
    "Every local user can read it in the process list, and the shell history keeps it.",
    "Specify the database as file:PATH, env:NAME or conf:PATH.",
  ),
  "N2I-E102": ends.usage(
    "invalid database address",
    "The scheme is unknown, or a part of the address is missing.",
    "Use mysql://user@host/db, postgresql://user@host/db or sqlite:////absolute/path.",
  ),
  "N2I-E103": ends.usage(
    "malformed document",
    "If nova2ironic ignored an unknown part of a document, data could be lost.",
    "Correct each listed error, then repeat the command.",
  ),
  "N2I-E104": ends.usage(
    "unreadable configuration file",
    "nova.conf determines the machines' drivers, and ironic.conf the speed of the takeover.",
    "Correct the file at the line in the message.",
  ),
  "N2I-E105": ends.usage(
    "unreadable conductor log",
    "Some takeover failures are recorded only in the conductor's log.",
    "Check the path and this user's permissions, or omit --conductor-log.",
  ),
  "N2I-E106": ends.usage(
    "unusable cloud settings",
    "A setting in the OS_* variables or clouds.yaml is missing or unknown.",
    "Correct the value in the message, or add --ironic-url and --os-cloud.",
  ),
  "N2I-E107": ends.usage(
    "a name on the command line matches nothing",
    "The option would have no effect, and later checks cannot detect the error.",
    "Compare the name with the listed names, or omit the option.",
  ),
  "N2I-E108": ends.usage(
    "unusable connection file",
    "It specifies the databases, services and files that a command uses.",
    "Correct each listed error, or specify a different file with --config.",
  ),
  "N2I-E109": ends.usage(
    "invalid policy file",
    "An unknown rule could grant access that Nova denies.",
    "Correct the rule at the line in the message, or check the file with oslopolicy-checker.",
  ),
  // Run folder and artefacts.
  "N2I-E110": ends.usage(
    "unusable run folder",
    "A run is a private folder for a single migration, takeover, switchover or set of managed machines.",
    "Specify a run folder that this user owns, or run the command that creates the missing file.",
  ),
  "N2I-E111": ends.refused(
    "truncated artefact",
    "The file has no footer, because its stage did not finish or the file was truncated.",
    "Run that stage again to replace the file.",
  ),
  "N2I-E112": ends.refused(
    "modified file in the run",
    "Each artefact has a digest of its content, and each journal line a digest of the previous line.",
    "Repeat the stage that writes the artefact, or restore the journal from a copy.",
  ),
  "N2I-E113": ends.refused(
    "a file is not the required artefact",
    "Its header has a different kind or format version.",
    "Specify the file that the previous stage wrote with this version of nova2ironic.",
  ),
  "N2I-E114": ends.refused(
    "artefacts of different runs",
    "The digest chain between snapshot and plan is broken.",
    "Run plan again on the snapshot in this folder.",
  ),
  "N2I-E115": ends.refused(
    "wrong key file for this run's secrets",
    "The secrets in the artefacts were encrypted with a different key.",
    "Use --key-file to specify the key file that extract used in this run.",
  ),
  "N2I-E116": ends.usage(
    "unusable service certificate",
    "The service cannot offer TLS to its clients.",
    "Specify the PEM files of the certificate and its key, and allow this user to read both.",
  ),
  "N2I-E117": ends.failed(
    "the service cannot listen on the address",
    "Another process uses the address, or it is not an address of this host.",
    "Choose a different --listen HOST:PORT, or stop the other process.",
  ),
  "N2I-E118": ends.denied(
    "no permission to listen on the port",
    "Only an administrator can use ports below 1024.",
    "Choose a port above 1023, and forward the well-known port from a load balancer.",
  ),
  "N2I-E120": ends.failed(
    "a file cannot be written",
    "The disk is full or read-only, or this user has no write permission.",
    "Free up space or choose a different run folder, then repeat the command.",
  ),
  ...REACHED,
  // Commands that change rows.
  "N2I-E300": ends.refused(
    "the plan is stale",
    "The target changed after the plan was made.",
    "Run plan again, review the differences, then run apply.",
  ),
  "N2I-E301": ends.halfway(
    "apply, rollback or handover stopped midway",
    "Some batches or machines are committed, and the journal lists them.",
    "Remove the cause, then repeat the command to resume.",
  ),
  "N2I-E302": ends.locked(
    "another nova2ironic process uses this target or run",
    "Two concurrent loads could undo each other's changes.",
    "Wait until it ends. Its lock is released when its connection closes.",
  ),
  "N2I-E303": ends.refused(
    "not confirmed",
    "This command writes to a service and requires confirmation.",
    "If there is no terminal, pass --yes.",
  ),
  "N2I-E304": ends.refused(
    "the plan has blocked machines",
    "Their data does not allow a safe migration.",
    "Fix the data, accept the finding in the site document, or exclude the machines with --skip-blocked.",
  ),
  "N2I-E305": ends.usage(
    "rollback needs a scope",
    "A rollback of all machines must be explicit.",
    "Specify --all, or --node UUID for each machine to roll back.",
  ),
  "N2I-E306": ends.usage(
    "a specified machine is not in this run",
    "The plan does not contain its uuid or bm_nodes.id.",
    "List the machines with: nova2ironic show RUN/plan",
  ),
  "N2I-E307": ends.refused(
    "the power readings are too old or do not match the plan",
    "If a machine's power state has changed since then, the conductor would act on a wrong record.",
    "Run power, plan and apply again.",
  ),
  "N2I-E308": ends.refused(
    "this Ironic does not support a staged load",
    "It does not store a maintenance reason, so maintenance set by nova2ironic cannot be distinguished from an operator's and must not be cleared.",
    "Load without --staged while no conductor runs, then start the conductors one by one.",
  ),
  "N2I-E310": ends.refused(
    "nova-compute is still running",
    "It would overwrite changed rows, act on machines that Ironic is to manage, and delete compute nodes and resource providers of nodes that a rollback removes.",
    "Stop nova-compute on the listed hosts, wait a minute, then repeat the command. To skip this check, use --allow-running-compute. If a rollback ran while nova-compute was running (compute nodes are missing, power_state is 0), keep nova-compute stopped, restore the rows with power, plan and apply, then start it.",
  ),
  "N2I-E311": ends.refused(
    "Nova database not specified",
    "Machines that Nova's rows assign to old hosts or images are not migrated, and a running nova-compute would act on them. During a rollback, nova-compute deletes the compute nodes and resource providers of removed nodes.",
    "Specify --nova-db, or use --leave-nova to change only Ironic.",
  ),
  "N2I-E312": ends.refused(
    "Ironic has nodes that this run did not load",
    "The upgrade loads into an empty Ironic, so this may be the wrong deployment.",
    "Find the owner of the nodes. If this is the right deployment, run plan again with --allow-other-nodes, then apply.",
  ),
  "N2I-E318": ends.locked(
    "a transaction of another run has not ended",
    "Its client is disconnected or silent, but the server may still complete it, for example a COMMIT that waits for a standby.",
    "Restore the standby, free up disk space, or end that session on the server (pg_terminate_backend, KILL). Then repeat the command.",
  ),
  "N2I-E320": ends.refused(
    "no loaded machines to finish",
    "This run has not loaded any machines, the load belongs to a different run folder, or it was rolled back.",
    "Pass the run folder of apply as --run. status shows its state.",
  ),
  "N2I-E321": ends.refused(
    "this run is finished",
    "Tenants are using the machines, so a rollback or another load would act on machines that Nova manages.",
    "If you dropped nova_bm, restore its dump first. Then protect the machines again with finish --undo, or use --after-finish. Machines that have since been deleted, rebuilt or assigned to another tenant are skipped and listed.",
  ),
  "N2I-E325": ends.refused(
    "the plan loads no machine",
    "apply would change flavors and hosts in Nova, and report success without loading any machine.",
    "Fix the data or accept the findings in the site document, then run plan again. --skip-blocked does not help here.",
  ),
  "N2I-E326": ends.refused(
    "nothing to compare",
    "This check did not compare any row, machine or setting.",
    "Run status to see the contents of the run, and check --run, --node and the databases.",
  ),
  "N2I-E327": ends.refused(
    "the window of this run is closed",
    "This run has a maintenance window, and only an open window allows writes.",
    "Open it with nova2ironic window open, or pass --no-window REASON, which is recorded.",
  ),
  "N2I-E328": ends.refused(
    "the run needs the operator",
    "The next step is a decision or a manual action.",
    "Perform the named action, then repeat the run command to resume.",
  ),
  "N2I-E329": ends.refused(
    "a hook failed",
    "The preparation or check that the hook performs is not complete, so the run stops.",
    "Read its output in log.jsonl, then repeat the run command. After a failed before- hook, the run repeats the stage and its hooks. It does not repeat the after- hook of a completed stage, so do that work by hand.",
  ),
  ...MOVES,
  // Retirement of nova_bm.
  "N2I-E340": ends.refused(
    "nova_bm cannot be retired yet",
    "It is the only record of machines that are not in Ironic as planned.",
    "Resolve the listed conditions, then repeat retire.",
  ),
  // Rehearsal on copies of the databases.
  "N2I-E351": ends.refused(
    "the database is not a copy for a rehearsal",
    "A rehearsal writes to its databases, so it must not use the plan's own databases or a database in use.",
    "Restore a backup of the database under a different name, and specify that database.",
  ),
  "N2I-E352": ends.refused(
    "this run cannot be rehearsed",
    "A rehearsal runs the whole plan on copies of the databases before apply changes Ironic.",
    "Before apply, rehearse a plan for Ironic's database, and specify the copy of the database with --ironic-db.",
  ),
  // This host.
  ...LEASE_REFUSALS,
  "N2I-E400": ends.failed(
    "this host cannot read power states",
    "It cannot open a socket or run ssh, so the power state of the machines is not known.",
    "Remove the named cause, then repeat power to resume.",
  ),
  "N2I-E410": ends.usage(
    "unusable TFTP tree",
    "Boot files are read from the compute hosts' trees and staged in the conductor's tree.",
    "Specify the folder that the TFTP server serves, or a copy of it.",
  ),
  "N2I-E900": ends.bug(
    "internal error",
    "nova2ironic reached an unexpected state.",
    "Report this bug with the text above. The journal is intact.",
  ),
};

export type RefusalCode = keyof typeof REFUSALS;
