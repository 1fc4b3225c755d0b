import { ends } from "../exit-status.ts";

/** Databases and services: no answer, wrong target, or refusal. */
export const REACHED = {
  "N2I-E200": ends.failed(
    "a database does not answer",
    "The connection was refused, timed out or was cut.",
    "Check host, port and network, then repeat the command.",
  ),
  "N2I-E201": ends.denied(
    "a database rejects the credentials",
    "The user or password is wrong, or the user may not connect from this host.",
    "Check the credentials of this database. Each database has its own.",
  ),
  "N2I-E202": ends.refused(
    "wrong database",
    "It lacks tables that this command reads or writes, or it belongs to a different service.",
    "Compare --nova-bm-db, --nova-db and --ironic-db.",
  ),
  "N2I-E203": ends.refused(
    "unsupported source schema version",
    "The supported versions are nova_bm 1 to 10, and the versions of nova and nova_api in the message. Rows of other versions may have a different meaning.",
    "Run the nova release's own db sync, or report the version.",
  ),
  "N2I-E204": ends.refused(
    "unsupported Ironic schema",
    "Columns, key names and object versions differ by release, so nova2ironic does not accept an unknown head.",
    "Run ironic-dbsync of a supported release, then run plan again.",
  ),
  "N2I-E205": ends.refused(
    "unsupported pair of releases",
    "The upgrade is defined within one release: Juno nova-baremetal to Juno Ironic.",
    "Upgrade in the order in the message, or run plan with --allow-pairing, which is recorded.",
  ),
  "N2I-E206": ends.denied(
    "missing database privilege",
    "The server refused a statement for this user.",
    "Grant the named privilege: SELECT on the sources, and SELECT, INSERT, UPDATE, DELETE on Ironic. A read-only server or session accepts no load.",
  ),
  "N2I-E207": ends.failed(
    "a database refuses a statement",
    "The server returned an error, and the batch was rolled back.",
    "Look up the server's error number. No change in this batch was kept.",
  ),
  "N2I-E208": ends.refused(
    "the Ironic release is not certain",
    "Some releases share one schema but treat machines differently: Zed boots from disk only, Xena and Yoga also from the network.",
    "Find out which release is running, then pass --ironic-release.",
  ),
  "N2I-E209": ends.refused(
    "a service is too old for the operation",
    "The operation needs a later microversion.",
    "Upgrade that service first.",
  ),
  "N2I-E210": ends.failed(
    "a service does not answer",
    "The connection was refused, cut or timed out, or the service returned only server errors.",
    "Check URL and network, then repeat the command.",
  ),
  "N2I-E211": ends.denied(
    "a service rejects the credentials",
    "The user, password or token is wrong, or the role lacks a permission.",
    "Check the credentials. Ironic requires the admin role (baremetal_admin), with system scope (OS_SYSTEM_SCOPE=all) if it enforces scopes. Nova requires the admin role for flavors.",
  ),
  "N2I-E212": ends.failed(
    "a service refuses a call",
    "It returned an error that a retry would not change.",
    "Read its error message. --debug shows the call.",
  ),
  "N2I-E213": ends.failed(
    "no TLS connection to a service",
    "Its certificate is not trusted, or the TLS handshake failed. Nothing was sent.",
    "Fix the certificate, or specify the CA that signed it. --insecure disables certificate verification.",
  ),
  "N2I-E214": ends.refused(
    "no conductor can adopt the machines",
    "Adoption needs a live conductor in the machine's conductor group with its driver.",
    "Start a conductor with the driver enabled in each listed group, then repeat the command.",
  ),
  "N2I-E215": ends.refused(
    "wrong or ambiguous image",
    "Flavors would refer to an image that no deployment can boot, or to an arbitrary one of several images.",
    "Compare openstack image list --name NAME and openstack image show ID, then specify the right image.",
  ),
  "N2I-E216": ends.failed(
    "a database does not answer in time",
    "It sent nothing for --db-timeout seconds.",
    "Check the server's activity (SHOW PROCESSLIST, pg_stat_activity) and the network, then repeat the command.",
  ),
  "N2I-E217": ends.halfway(
    "a COMMIT was not answered",
    "The server may have kept or dropped the batch, or may still be processing it.",
    "Repeat the command, or run rollback. Each waits until the server ends that transaction, then checks the rows.",
  ),
  "N2I-E219": ends.refused(
    "a PostgreSQL sequence is lower than the ids of its table",
    "The rows were copied without the sequence, so the server would assign ids that exist.",
    "As the owner of the table, run the following statement, then repeat the command: SELECT setval(pg_get_serial_sequence('TABLE', 'id'), (SELECT max(id) FROM TABLE));",
  ),
  "N2I-E220": ends.failed(
    "endless response from a service",
    "The response exceeds the limit, and storing it would exhaust the memory.",
    "Check the server at that address, including any proxy in between, then repeat the command.",
  ),
  "N2I-E221": ends.failed(
    "too many open files",
    "Sockets count as files, and the system limits them for each process and host.",
    "Raise the limit (ulimit -n 4096) or reduce the concurrency (--in-flight), then repeat the command.",
  ),
  "N2I-E222": ends.refused(
    "this run folder is a copy",
    "Rows of its journal may now belong to another run, and a rollback would remove them.",
    "Work in the original folder. If it is lost for good, remove run.place in this copy.",
  ),
  "N2I-E223": ends.denied(
    "a server requests the password in clear text",
    "The connection is not encrypted, so the password was not sent.",
    "Enable TLS on the server, or configure scram-sha-256 there (pg_hba.conf). With sslmode=disable in the address, the password is sent anyway.",
  ),
  "N2I-E224": ends.refused(
    "a pooler or proxy in front of a database",
    "Its clients share server sessions, so our settings (read-only mode, timeouts) would also apply to Ironic and Nova. No setting was changed.",
    "Specify the address of the server, or of a load balancer that only forwards connections (HAProxy in TCP mode).",
  ),
};
