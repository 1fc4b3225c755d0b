import assert from "node:assert/strict";
import { test } from "node:test";
import { otherServer } from "../../src/model/database.ts";

const NODE = {
  engine: "mysql",
  address: "db1:3306",
  database: "ironic",
  server: "wsrep cluster 8a31",
};
const OLD = { engine: "postgresql", address: "db1:5432", database: "ironic", server: "16384 true" };
const NEW = { ...OLD, server: "system 7301 16384 true" };
const ALONE = { ...NODE, server: "1 db1 /var/lib/mysql/" };

const CASES: readonly (readonly [string, object, object, readonly string[]])[] = [
  ["another node of one cluster", NODE, { ...NODE, address: "db2:3306" }, []],
  ["another database of it", NODE, { ...NODE, database: "test" }, ["database"]],
  ["a node of another cluster", NODE, { ...NODE, server: "wsrep cluster 9b42" }, ["server"]],
  ["one data folder by another address", NEW, { ...NEW, address: "db2:5432" }, []],
  ["another server by one address", NEW, { ...NEW, server: "system 7302 16384 true" }, ["server"]],
  ["what an earlier version wrote", OLD, NEW, []],
  ["that, by another address", OLD, { ...NEW, address: "db2:5432" }, ["address"]],
  [
    "a server without a name, by another address",
    ALONE,
    { ...ALONE, address: "db2:3306" },
    ["address"],
  ],
];

for (const [what, planned, found, fields] of CASES)
  test(`${what} differs by ${fields.join(", ") || "nothing"}`, () =>
    assert.deepEqual(otherServer(planned, found), fields));
