import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_TABLES } from "../../../src/model/nova/leases.ts";
import {
  differing,
  dropStatements,
  dumpCommand,
  notLoaded,
  otherServices,
  waiting,
} from "../../../src/window/retire/retire.ts";

const counts = { machines: 9, nodes: 9, ports: 9, findings: {} };
const verdicts = { create: 5, unchanged: 0, drift: 0, blocked: 0, conflict: 0, skipped: 0 };

test("a machine that nova_bm alone has keeps it", () => {
  const gate = (more: object, skipped = 0) =>
    notLoaded({ ...counts, verdicts: { ...verdicts, ...more } }, skipped);
  assert.equal(gate({ drift: 4 }), null);
  assert.equal(gate({ skipped: 3 }), null);
  const reason = gate({ blocked: 2, conflict: 1 }, 3) ?? "";
  assert.match(reason, /^2 blocked, 1 in conflict, 3 skipped by the site/);
});

test("a machine that waits for handover keeps nova_bm, by the journal or by Ironic's own word", () => {
  const gate = (staged: number, of: { staged: number; released: number } | null) =>
    waiting(of, { staged });
  assert.equal(gate(0, null), null);
  assert.equal(gate(0, { staged: 5, released: 5 }), null);
  assert.match(gate(0, { staged: 5, released: 2 }) ?? "", /^3 machines wait/);
  assert.match(gate(4, { staged: 5, released: 5 }) ?? "", /^4 machines wait/);
  assert.match(gate(1, null) ?? "", /^1 /);
});

test("a verify that found no difference without looking at Nova is none", () => {
  assert.equal(differing(true, [], false), null);
  assert.match(differing(true, [], true) ?? "", /Nova was not compared/);
  assert.match(differing(false, ["node a missing"], false) ?? "", /node a missing; run/);
  assert.match(differing(false, [], false) ?? "", /rows of Nova/);
});

test("another service in the database keeps it", () => {
  assert.equal(otherServices(["bm_nodes", "racks"], ["nova_bm"]), null);
  assert.match(otherServices(["bm_nodes", "instances"], ["nova_bm"]) ?? "", /tables instances/);
  assert.match(otherServices(["bm_nodes"], ["nova_bm", "nova"]) ?? "", /schema versions of nova/);
});

const AT = {
  ...{ host: "db1", port: 3306, socket: null, user: "migrate", database: "nova_bm" },
  ...{ filename: null, password: () => "hunter2", tls: null, label: "" },
};

test("the dump command names the database, and its password is in a file", () => {
  assert.equal(
    dumpCommand({ ...AT, engine: "mysql" }),
    "umask 077; mysqldump --defaults-extra-file=nova_bm.cnf --host=db1 --port=3306 --user=migrate --single-transaction --hex-blob --result-file=nova_bm.sql nova_bm",
  );
  assert.equal(
    dumpCommand({ ...AT, engine: "postgresql", host: null, port: null, socket: "/run/pg" }),
    "umask 077; PGPASSFILE=nova_bm.pgpass pg_dump --host=/run/pg --username=migrate --no-owner --file=nova_bm.sql nova_bm",
  );
  assert.equal(
    dumpCommand({ ...AT, engine: "mysql", host: null, port: null, database: "a b" }),
    "umask 077; mysqldump --defaults-extra-file=nova_bm.cnf --user=migrate --single-transaction --hex-blob --result-file=nova_bm.sql 'a b'",
  );
  assert.equal(
    dumpCommand({ ...AT, engine: "sqlite", filename: "/a/b.sqlite" }),
    'sqlite3 /a/b.sqlite ".backup nova_bm.sqlite"',
  );
});

test("the DROP statements name nova-baremetal's tables and those of leases, the version last", () => {
  const table = (name: string, ...columns: readonly string[]) => ({
    ...{ name, columns: columns.map((column) => ({ name: column })) },
  });
  const locks = LEASE_TABLES.bm_locks?.columns.map(({ name }) => name) ?? [];
  const own = ["migrate_version", "bm_nodes", "bm_interfaces", "racks"].map((name) => table(name));
  const leases = [table("bm_locks", ...locks), table("bm_service_leases", "theirs")];
  assert.deepEqual(dropStatements([...own, ...leases]), [
    ...["DROP TABLE bm_locks;", "DROP TABLE bm_interfaces;", "DROP TABLE bm_nodes;"],
    "DROP TABLE migrate_version;",
  ]);
});
