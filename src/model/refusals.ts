import { EXIT_STATUS } from "./exit.ts";
import { ACTING } from "./refusals/acting.ts";
import { DATABASE } from "./refusals/database.ts";
import { FINISH } from "./refusals/finish.ts";
import type { Refusal } from "./refusals/kind.ts";
import { NOTHING } from "./refusals/nothing.ts";
import { QUEUED } from "./refusals/nova.ts";
import { POWER } from "./refusals/power.ts";
import { SERVICE } from "./refusals/service.ts";

export type { Refusal } from "./refusals/kind.ts";

const { failed, refused, denied, usage, bug } = EXIT_STATUS;

/** Every reason this tool stops for; `nova2ironic explain CODE` prints a row. Codes are never reused. */
export const REFUSALS = {
  "N2I-E100": {
    exit: usage.status,
    title: "the command line is wrong",
    why: "An option is unknown, missing, or has a value of the wrong form.",
    fix: "Run the command with --help and compare.",
  },
  "N2I-E101": {
    exit: usage.status,
    title: "a password stands on the command line",
    why: "Every user of the machine can read it in the process list, and it stays in shell history.",
    fix: "Give the database as file:PATH, env:NAME or conf:PATH instead.",
  },
  "N2I-E102": {
    exit: usage.status,
    title: "a database address cannot be read",
    why: "The address has no known scheme, or a part of it is missing.",
    fix: "Use mysql://user@host/db, postgresql://user@host/db or sqlite:////absolute/path.",
  },
  "N2I-E103": {
    exit: usage.status,
    title: "a mapping or site document is malformed",
    why: "A rule that is not understood would lose or invent data.",
    fix: "Correct each fault listed with its path, then run the command again.",
  },
  "N2I-E104": {
    exit: usage.status,
    title: "a configuration file cannot be read",
    why: "What a compute host's nova.conf says decides which driver its machines get.",
    fix: "Correct the file at the line named.",
  },
  "N2I-E105": {
    exit: usage.status,
    title: "a log cannot be followed",
    why: "Some failures of a take-over stand in the conductor's log and nowhere else.",
    fix: "Check the path and that this user may read it, or leave --conductor-log out.",
  },
  "N2I-E106": {
    exit: usage.status,
    title: "the cloud's settings cannot be used",
    why: "OS_* variables or clouds.yaml say how to log in, and something there is missing or unknown.",
    fix: "Correct what is named, or give --ironic-url and --os-cloud.",
  },
  "N2I-E107": {
    exit: usage.status,
    title: "a name on the command line matches nothing",
    why: "A word that fits no machine or flavor changes nothing, and every look afterwards finds all as planned.",
    fix: "Compare the name with those told, or leave the word out.",
  },
  "N2I-E110": {
    exit: usage.status,
    title: "the run folder cannot be used",
    why: "A run is a private folder that holds the artefacts of one migration.",
    fix: "Name a folder this user owns, or run the stage that makes the missing file.",
  },
  "N2I-E111": {
    exit: refused.status,
    title: "an artefact is truncated",
    why: "The file has no footer: the stage that wrote it did not finish, or the file was cut.",
    fix: "Run the stage that writes it again.",
  },
  "N2I-E112": {
    exit: refused.status,
    title: "a file of the run was changed after it was written",
    why: "An artefact has a digest of its content in its footer, each line of a journal one of the line before it.",
    fix: "Run the stage that writes an artefact again, and put a journal back from a copy.",
  },
  "N2I-E113": {
    exit: refused.status,
    title: "a file is not the artefact that is wanted here",
    why: "Its header names another kind or another version of the format.",
    fix: "Give the file that the stage before wrote, with this version of the tool.",
  },
  "N2I-E114": {
    exit: refused.status,
    title: "artefacts of different runs are mixed",
    why: "The digest chain between snapshot and plan is broken.",
    fix: "Run plan again on the snapshot in this folder.",
  },
  "N2I-E115": {
    exit: refused.status,
    title: "the key file does not open this run's secrets",
    why: "The secrets in the artefacts were sealed with another key.",
    fix: "Give the key file this run was extracted with (--key-file).",
  },
  "N2I-E120": {
    exit: failed.status,
    title: "a file cannot be written",
    why: "The disk is full, read-only, or this user may not write there.",
    fix: "Free space or choose another run folder, then run the same command again.",
  },
  "N2I-E200": {
    exit: failed.status,
    title: "a database does not answer",
    why: "The connection was refused, timed out, or was cut.",
    fix: "Check host, port and network, then run the same command again.",
  },
  "N2I-E201": {
    exit: denied.status,
    title: "a database refuses the credentials",
    why: "User or password is wrong, or the user may not connect from here.",
    fix: "Check the credential of this database; each database has its own.",
  },
  "N2I-E202": {
    exit: refused.status,
    title: "a database is not the one that is wanted here",
    why: "The tables found there belong to another service: two addresses may be swapped.",
    fix: "Compare --nova-bm-db, --nova-db and --ironic-db.",
  },
  "N2I-E203": {
    exit: refused.status,
    title: "the source schema version is not supported",
    why: "nova_bm is known at versions 1 to 10; another one may mean other things.",
    fix: "Run the nova release's own db sync, or report the version.",
  },
  "N2I-E204": {
    exit: refused.status,
    title: "the Ironic schema is not a supported target",
    why: "Columns, key names and object versions differ by release; an unknown head is never guessed.",
    fix: "Run ironic-dbsync of a supported release, then plan again.",
  },
  "N2I-E205": {
    exit: refused.status,
    title: "source and target releases may not be paired",
    why: "The upgrade is defined within one release: Juno nova-baremetal to Juno Ironic.",
    fix: "Upgrade in the order named, or give --allow-pairing to plan; it is written into the plan.",
  },
  "N2I-E206": {
    exit: denied.status,
    title: "a database user lacks a privilege",
    why: "A statement was refused for this user.",
    fix: "Grant what is named: SELECT on the sources; SELECT, INSERT, UPDATE, DELETE on Ironic. A server or session that is read-only takes no load.",
  },
  "N2I-E207": {
    exit: failed.status,
    title: "a database refuses a statement",
    why: "The server answered with an error; the batch was rolled back.",
    fix: "Look the server's error number up; nothing of this batch was kept.",
  },
  "N2I-E208": {
    exit: refused.status,
    title: "the Ironic release is not certain",
    why: "Some releases share one schema and treat machines differently: Zed boots from disk only, Xena and Yoga from the network too.",
    fix: "Look which release runs and give --ironic-release.",
  },
  ...SERVICE,
  ...DATABASE,
  ...ACTING,
  ...POWER,
  ...NOTHING,
  ...QUEUED,
  ...FINISH,
  "N2I-E221": {
    exit: failed.status,
    title: "this process may open no more files",
    why: "Sockets count as files, and the system gives a process or a host only so many.",
    fix: "Raise the limit (ulimit -n 4096), or ask for less at once (--in-flight), then run the same command again.",
  },
  "N2I-E400": {
    exit: failed.status,
    title: "this host cannot ask for power states",
    why: "No socket can be opened, or ipmitool or ssh cannot be run: that says nothing about any machine.",
    fix: "Remove the cause named, then run power again: it goes on where it stopped.",
  },
  "N2I-E410": {
    exit: usage.status,
    title: "a TFTP tree cannot be used",
    why: "Boot files are read from the compute hosts' trees, and staged into the conductor's.",
    fix: "Name the folder that the TFTP server serves, or a copy of it.",
  },
  "N2I-E900": {
    exit: bug.status,
    title: "internal error",
    why: "The tool met a state its authors did not think of.",
    fix: "Report it with the text above; the journal is intact.",
  },
} as const satisfies Record<string, Refusal>;

export type RefusalCode = keyof typeof REFUSALS;
