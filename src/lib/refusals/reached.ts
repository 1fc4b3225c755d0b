import { denied, failed, halfway, refused } from "../exit-status.ts";

/** Databases and services: no answer, wrong target, or refusal. */
export const REACHED = {
  "N2I-E200": failed(
    "a database does not answer",
    "The connection was refused, timed out or was cut.",
    "Check host, port and network, then repeat the command.",
  ),
  "N2I-E201": denied(
    "a database refuses the credentials",
    "User or password is wrong, or the user may not connect from this host.",
    "Check the credentials of this database. Each database has its own.",
  ),
  "N2I-E202": refused(
    "wrong database",
    "It lacks tables that this command reads or writes, or has those of another service.",
    "Compare --nova-bm-db, --nova-db and --ironic-db.",
  ),
  "N2I-E203": refused(
    "unsupported source schema version",
    "Supported are nova_bm 1 to 10, and the versions of nova and nova_api in the message. Rows of another version may have another meaning.",
    "Run the nova release's own db sync, or report the version.",
  ),
  "N2I-E204": refused(
    "unsupported Ironic schema",
    "Columns, key names and object versions differ by release, so nova2ironic never guesses an unknown head.",
    "Run ironic-dbsync of a supported release, then repeat plan.",
  ),
  "N2I-E205": refused(
    "unsupported pair of releases",
    "The upgrade is defined within one release: Juno nova-baremetal to Juno Ironic.",
    "Upgrade in the named order, or give --allow-pairing to plan, which records it.",
  ),
  "N2I-E206": denied(
    "missing database privilege",
    "The server refused a statement for this user.",
    "Grant the named privilege: SELECT on the sources, and SELECT, INSERT, UPDATE, DELETE on Ironic. A read-only server or session accepts no load.",
  ),
  "N2I-E207": failed(
    "a database refuses a statement",
    "The server returned an error, and the batch was rolled back.",
    "Look up the server's error number. Nothing of this batch was kept.",
  ),
  "N2I-E208": refused(
    "the Ironic release is not certain",
    "Some releases share one schema but treat machines differently: Zed boots from disk only, Xena and Yoga also from the network.",
    "Find out which release runs, then pass --ironic-release.",
  ),
  "N2I-E209": refused(
    "a service is too old for the operation",
    "The operation needs a later microversion.",
    "Upgrade that service first.",
  ),
  "N2I-E210": failed(
    "a service does not answer",
    "The connection was refused, cut or timed out, or the service returned only server errors.",
    "Check URL and network, then repeat the command.",
  ),
  "N2I-E211": denied(
    "a service refuses the login",
    "User, password or token is wrong, or the role lacks a right.",
    "Check the credentials. Ironic needs the role admin (baremetal_admin), of the system (OS_SYSTEM_SCOPE=all) if it enforces scopes, and Nova needs admin for flavors.",
  ),
  "N2I-E212": failed(
    "a service refuses a call",
    "It returned an error that a retry would not change.",
    "Read its error message. --debug names the call.",
  ),
  "N2I-E213": failed(
    "no TLS connection to a service",
    "Its certificate is not trusted, or both sides do not agree on TLS. Nothing was sent.",
    "Fix the certificate or name its authority. --insecure skips every check of the certificate.",
  ),
  "N2I-E214": refused(
    "no conductor can adopt the machines",
    "Adoption needs a live conductor in the machine's conductor group with its driver.",
    "Start a conductor of each named group with the driver enabled, then repeat the command.",
  ),
  "N2I-E215": refused(
    "wrong or ambiguous image",
    "Flavors would name an image that no deployment can boot, or one of several by chance.",
    "Compare openstack image list --name NAME and openstack image show ID, then give the right image.",
  ),
  "N2I-E216": failed(
    "a database does not answer in time",
    "It sent nothing for --db-timeout seconds.",
    "Check the server's activity (SHOW PROCESSLIST, pg_stat_activity) and the network, then repeat the command.",
  ),
  "N2I-E217": halfway(
    "a COMMIT was not answered",
    "The server may have kept or dropped the batch, or may still process it.",
    "Repeat the command, or run rollback. Each waits until the server ends that transaction, then checks the rows.",
  ),
  "N2I-E219": refused(
    "a PostgreSQL sequence is lower than the ids of its table",
    "The rows were copied without the sequence, so the server would assign ids that exist.",
    "As the owner of the table, run the following statement, then repeat the command: SELECT setval(pg_get_serial_sequence('TABLE', 'id'), (SELECT max(id) FROM TABLE));",
  ),
  "N2I-E220": failed(
    "endless answer from a service",
    "The answer exceeds the limit, and to keep it would take all memory.",
    "Check the server at that address, including any proxy in between, then repeat the command.",
  ),
  "N2I-E221": failed(
    "too many open files",
    "Sockets count as files, and the system limits them for each process and host.",
    "Raise the limit (ulimit -n 4096) or reduce the concurrency (--in-flight), then repeat the command.",
  ),
  "N2I-E222": refused(
    "this run folder is a copy",
    "Rows of its journal may now belong to another run, and a rollback would remove them.",
    "Work in the original folder. If it is lost for good, remove run.place in this one.",
  ),
  "N2I-E223": denied(
    "a server requests the password in clear text",
    "The connection is not encrypted, so the password was not sent.",
    "Turn TLS on at the server, or configure scram-sha-256 there (pg_hba.conf). sslmode=disable in the address sends the password anyway.",
  ),
  "N2I-E224": refused(
    "a pooler or proxy in front of a database",
    "Its clients share server sessions, so our settings (no writes, time limits) would also apply to Ironic and Nova. Nothing was set.",
    "Give the address of the server, or of a balancer that only forwards connections (HAProxy in TCP mode).",
  ),
};
