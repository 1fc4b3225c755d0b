import { denied, failed, halfway, refused } from "../exit-status.ts";

/** Of a database or a service: silent, not the right one, or it refuses. */
export const REACHED = {
  "N2I-E200": failed(
    "a database does not answer",
    "The connection was refused, timed out, or was cut.",
    "Check host, port and network, then run the same command again.",
  ),
  "N2I-E201": denied(
    "a database refuses the credentials",
    "User or password is wrong, or the user may not connect from here.",
    "Check the credential of this database; each database has its own.",
  ),
  "N2I-E202": refused(
    "a database is not the one that is wanted here",
    "The database lacks tables that this command reads or writes, or has those of another service.",
    "Compare --nova-bm-db, --nova-db and --ironic-db.",
  ),
  "N2I-E203": refused(
    "the source schema version is not supported",
    "nova_bm is known at versions 1 to 10, nova and nova_api at those the refusal names; another one may mean other things.",
    "Run the nova release's own db sync, or report the version.",
  ),
  "N2I-E204": refused(
    "the Ironic schema is not a supported target",
    "Columns, key names and object versions differ by release; an unknown head is never guessed.",
    "Run ironic-dbsync of a supported release, then plan again.",
  ),
  "N2I-E205": refused(
    "source and target releases may not be paired",
    "The upgrade is defined within one release: Juno nova-baremetal to Juno Ironic.",
    "Upgrade in the order named, or give --allow-pairing to plan; it is written into the plan.",
  ),
  "N2I-E206": denied(
    "a database user lacks a privilege",
    "A statement was refused for this user.",
    "Grant what is named: SELECT on the sources; SELECT, INSERT, UPDATE, DELETE on Ironic. A server or session that is read-only takes no load.",
  ),
  "N2I-E207": failed(
    "a database refuses a statement",
    "The server answered with an error; the batch was rolled back.",
    "Look the server's error number up; nothing of this batch was kept.",
  ),
  "N2I-E208": refused(
    "the Ironic release is not certain",
    "Some releases share one schema and treat machines differently: Zed boots from disk only, Xena and Yoga from the network too.",
    "Find out which release runs, then pass --ironic-release.",
  ),
  "N2I-E209": refused(
    "a service is too old for the operation",
    "The operation needs a later microversion than the service supports.",
    "Upgrade that service first.",
  ),
  "N2I-E210": failed(
    "a service does not answer",
    "The connection was refused or cut, the time limit passed, or it answered with server errors only.",
    "Check URL and network, then run the same command again.",
  ),
  "N2I-E211": denied(
    "a service refuses the login",
    "User, password or token is wrong, or the role lacks a right.",
    "Check the credential; Ironic wants the role admin (baremetal_admin), of the system (OS_SYSTEM_SCOPE=all) where it enforces scopes; Nova admin for flavors.",
  ),
  "N2I-E212": failed(
    "a service refuses a call",
    "It answered with an error that no second try would change.",
    "Look at what it says; with --debug the call is named.",
  ),
  "N2I-E213": failed(
    "a service cannot be spoken to encrypted",
    "Its certificate cannot be trusted as it stands, or both sides do not agree on TLS; nothing was sent.",
    "Fix the certificate or name its authority; --insecure looks at no certificate at all.",
  ),
  "N2I-E214": refused(
    "nobody is there to adopt machines",
    "Adoption is a living conductor's work: one of the machine's conductor group that has its driver.",
    "Start a conductor of each group named, with the driver enabled, then run the same command again.",
  ),
  "N2I-E215": refused(
    "an image is not what is asked for",
    "Flavors would name an image that no deployment can boot, or one of several by chance.",
    "Compare openstack image list --name NAME and openstack image show ID; give the image you mean.",
  ),
  "N2I-E216": failed(
    "a database gives no answer in time",
    "It took the statement, or the connection, and was silent for --db-timeout seconds.",
    "Look what the server is doing (SHOW PROCESSLIST, pg_stat_activity) and whether the network is up, then run the same command again.",
  ),
  "N2I-E217": halfway(
    "a COMMIT was not answered",
    "The server may have kept the batch, may have dropped it, or may still be at it.",
    "Run the same command again, or rollback: each waits until the server has ended that transaction, then looks at the rows.",
  ),
  "N2I-E219": refused(
    "a sequence of PostgreSQL is behind its table",
    "Rows were copied with their ids and the sequence was not, so the server would give out ids that are taken.",
    "As the owner of the table: SELECT setval(pg_get_serial_sequence('TABLE', 'id'), (SELECT max(id) FROM TABLE)); then run the same command again.",
  ),
  "N2I-E220": failed(
    "an answer of a service does not end",
    "No service this tool asks says so much at once; to keep it would take all memory.",
    "Look at what answers at that address, a proxy in between too, then run the same command again.",
  ),
  "N2I-E221": failed(
    "this process may open no more files",
    "Sockets count as files, and the system gives a process or a host only so many.",
    "Raise the limit (ulimit -n 4096), or ask for less at once (--in-flight), then run the same command again.",
  ),
  "N2I-E222": refused(
    "this run folder is a copy",
    "Since it was taken, rows of its journal may have become another run's, and a rollback would take them.",
    "Work in the first one; if it is lost for good, remove run.place in this one.",
  ),
  "N2I-E223": denied(
    "a server wants the password in clear",
    "The line is not encrypted, and whoever answers there would have the password; it was not sent.",
    "Turn TLS on at the server, or let it ask by scram-sha-256 (pg_hba.conf). sslmode=disable in the address sends it all the same.",
  ),
  "N2I-E224": refused(
    "a pooler or proxy stands before a database",
    "It lets clients share sessions of the server: what this tool sets in its own (no writes, time limits) would stay for Ironic and Nova. Nothing was set.",
    "Give the server's own address, or that of a balancer that only passes connections on (HAProxy in TCP mode).",
  ),
};
