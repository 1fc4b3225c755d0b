import assert from "node:assert/strict";
import { test } from "node:test";
import { mayBeSame, otherServer } from "../../src/model/database.ts";

const NODE = {
  engine: "mysql",
  address: "db1:3306",
  database: "ironic",
  server: "wsrep cluster 8a31",
};
const NEW = {
  ...{ engine: "postgresql", address: "db1:5432", database: "ironic" },
  server: "system 7301 16384 true",
};
const ALONE = { ...NODE, server: "1 db1 /var/lib/mysql/" };

const CASES: readonly (readonly [string, object, object, readonly string[]])[] = [
  ["another node of one cluster", NODE, { ...NODE, address: "db2:3306" }, []],
  ["another database of it", NODE, { ...NODE, database: "test" }, ["database"]],
  ["a node of another cluster", NODE, { ...NODE, server: "wsrep cluster 9b42" }, ["server"]],
  ["one data folder by another address", NEW, { ...NEW, address: "db2:5432" }, []],
  ["another server by one address", NEW, { ...NEW, server: "system 7302 16384 true" }, ["server"]],
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

const FILE = { engine: "sqlite", address: "/a.sqlite", database: "/a.sqlite", server: "1:2" };

const SAME: readonly (readonly [string, object, object, boolean])[] = [
  ["another node of one cluster", NODE, { ...NODE, address: "db2:3306" }, true],
  ["its name in other case", NODE, { ...NODE, database: "IRONIC" }, true],
  ["another database of it", NODE, { ...NODE, database: "copy" }, false],
  ["one name on another cluster", NODE, { ...NODE, address: "b:1", server: "other" }, false],
  ["one address whose server has a new name", NODE, { ...NODE, server: "other" }, true],
  ["a server without a name, by another address", ALONE, { ...ALONE, address: "b:1" }, true],
  ["a pooler's other name of it", NEW, { ...NEW, address: "b:1", database: "copy" }, true],
  ["another database", NEW, { ...NEW, database: "copy", server: "system 7301 99 true" }, false],
  ["another engine", NODE, { ...NODE, engine: "postgresql" }, false],
  ["a link to a file", FILE, { ...FILE, address: "/b", database: "/b" }, true],
  ["another file", FILE, { ...FILE, address: "/b", database: "/b", server: "1:3" }, false],
];

for (const [what, planned, found, isSame] of SAME)
  test(`${what} ${isSame ? "may be" : "is not"} the same database`, () =>
    assert.equal(mayBeSame(planned, found), isSame));
