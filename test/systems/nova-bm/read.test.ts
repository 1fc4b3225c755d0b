import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import { inspect } from "../../../src/migrate/extract/rules/inspect.ts";
import { blocks } from "../../../src/model/findings.ts";
import type { Machine } from "../../../src/model/machine.ts";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import { createTables } from "../../../src/systems/database/create-tables.ts";
import { checkNovaBm, readSchema } from "../../../src/systems/nova-bm/open.ts";
import { readMachines } from "../../../src/systems/nova-bm/read.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { seal } from "../../support/planned-case.ts";

type Says = "live" | "null" | "deleted" | "unreadable";
type Literals = readonly (readonly [literal: string, Says])[];

const NUMBERS = of("NULL: null; 0: live; 1: deleted; 17: deleted; -1: deleted");
/** As scripts and other tools write it. */
const TEXTS = of(
  "NULL: null; '0': live; 'False': live; 'f': live; 'no': live; '1': deleted; '17': deleted; 'true': deleted; 'T': deleted; 'yes': deleted; '': unreadable; '1x': unreadable; 'gone': unreadable",
);

/** Types a copy, a fork or another tool gives the column, by engine, with values of each. */
const TYPES: {
  readonly [engine in "mysql" | "postgresql" | "sqlite"]: readonly (readonly [string, Literals])[];
} = {
  mysql: [
    ["TINYINT(1)", NUMBERS],
    ["INTEGER", NUMBERS],
    ["BIGINT", [...NUMBERS, ["9223372036854775807", "deleted"]]],
    ["DECIMAL(10,2)", [...NUMBERS, ["0.5", "deleted"]]],
    ["DOUBLE", [...NUMBERS, ["0.5", "deleted"]]],
    ["BIT(1)", of("NULL: null; b'0': live; b'1': deleted")],
    ["BIT(64)", of("NULL: null; 0: live; 1: deleted; 48: deleted; 256: deleted")],
    ["ENUM('N','Y','?')", of("NULL: null; 'N': live; 'Y': deleted; '?': unreadable")],
    ["VARCHAR(36)", TEXTS],
    ["VARBINARY(36)", TEXTS],
  ],
  postgresql: [
    ["BOOLEAN", of("NULL: null; false: live; true: deleted")],
    ["INTEGER", NUMBERS],
    ["BIGINT", [...NUMBERS, ["9223372036854775807", "deleted"]]],
    ["NUMERIC(10,2)", [...NUMBERS, ["0.5", "deleted"]]],
    ["DOUBLE PRECISION", [...NUMBERS, ["0.5", "deleted"]]],
    ["BIT(1)", of("NULL: null; B'0': live; B'1': deleted")],
    ["BIT(8)", of("B'00000000': live; B'00110000': deleted")],
    ["TEXT", TEXTS],
    ["CHAR(8)", TEXTS],
    ["BYTEA", of("NULL: null; '\\x00': live; '\\x01': deleted")],
  ],
  sqlite: [
    ["BOOLEAN", [...NUMBERS, ["'true'", "deleted"], ["'gone'", "unreadable"]]],
    ["INTEGER", [...NUMBERS, ["9223372036854775807", "deleted"], ["0.5", "deleted"]]],
    ["TEXT", TEXTS],
    ["BLOB", [...TEXTS, ["X'00'", "live"], ["X'01'", "deleted"], ["X'ff'", "deleted"]]],
  ],
};

/** Literals of SQL and how each is read: `NULL: null; 0: live`. */
function of(table: string): Literals {
  return table.split("; ").map((row) => {
    const [literal = "", says] = row.split(": ");
    return [literal, says as Says];
  });
}

const SHARED = "10.0.0.9";
const OWNER = 900;

/** One row a literal, all with one instance_uuid; the same literals on interfaces of a live node. */
async function fill(db: Knex, type: string, literals: Literals): Promise<void> {
  await db.schema.dropTableIfExists("bm_nodes");
  await db.schema.dropTableIfExists("bm_interfaces");
  const texts = [
    ...["instance_name", "instance_uuid", "pm_address", "pm_password", "pm_user"],
    ...["service_host", "task_state", "uuid"],
  ];
  const columns = ["id", "cpus", "local_gb", "memory_mb", "terminal_port"]
    .map((name) => `${name} INTEGER`)
    .concat(["created_at", "updated_at"].map((name) => `${name} VARCHAR(30)`))
    .concat(texts.map((name) => `${name} VARCHAR(255)`));
  await db.raw(`CREATE TABLE bm_nodes (${columns.join(", ")}, deleted ${type})`);
  await db.raw(
    `CREATE TABLE bm_interfaces (id INTEGER, bm_node_id INTEGER, address VARCHAR(255), vif_uuid VARCHAR(36), deleted ${type})`,
  );
  const live = literals.find(([, says]) => says === "live")?.[0];
  await db.raw(`INSERT INTO bm_nodes (id, deleted) VALUES (${OWNER}, ${live})`);
  for (const [at, [literal]] of literals.entries()) {
    const id = at + 1;
    await db.raw(
      `INSERT INTO bm_nodes (id, instance_uuid, deleted) VALUES (${id}, '${SHARED}', ${literal})`,
    );
    await db.raw(
      `INSERT INTO bm_interfaces (id, bm_node_id, address, deleted) VALUES (${id}, ${OWNER}, '52:54:00:00:00:aa', ${literal})`,
    );
  }
}

function said(row: Machine["node"] | Machine["interfaces"][number], table: string, of: Machine) {
  const unread = inspect(of).filter(
    (found) => found.code === "N2I-D017" && found.place === `${table}.id=${row.id} deleted`,
  );
  if (unread.length > 0) {
    assert.ok(unread.every(blocks) && row.deleted === false);
    return "unreadable";
  }
  return row.deleted === null ? "null" : row.deleted ? "deleted" : "live";
}

for (const engine of engines())
  test(`on ${engine}, deleted is read alike from every type by extract, its looks for duplicates, and check`, async (t) => {
    const place = await withDatabase(engine, t);
    await place.db.raw(
      "CREATE TABLE migrate_version (repository_id VARCHAR(250), version INTEGER)",
    );
    await place.db.raw("INSERT INTO migrate_version VALUES ('nova_bm', 10)");
    for (const [type, literals] of TYPES[engine]) {
      await fill(place.db, type, literals);
      const wanted = literals.map(([literal, says]) => `${type} ${literal}: ${says}`);
      const kept = literals.flatMap(([, says], at) => (says === "deleted" ? [] : [at + 1]));
      const database = await openedAt(place.url, t, { readOnly: true });
      const machines: Machine[] = [];
      for await (const batch of readMachines(database, await readSchema(database), seal))
        machines.push(...batch.machines);
      const nodes = machines.filter(({ node }) => node.id !== OWNER);
      const owner = machines.find(({ node }) => node.id === OWNER);
      assert.ok(owner !== undefined);
      const told = (says: readonly Says[]) =>
        literals.map(([literal], at) => `${type} ${literal}: ${says[at]}`);
      assert.deepEqual(told(nodes.map((of) => said(of.node, "bm_nodes", of))), wanted);
      const ports = told(owner.interfaces.map((row) => said(row, "bm_interfaces", owner)));
      assert.deepEqual(ports, wanted);
      for (const { node, duplicates } of nodes) {
        const others = node.deleted === true ? [] : kept.filter((id) => id !== node.id);
        // Five of them are named at most.
        const first = kept.slice(0, 5).filter((id) => others.includes(id));
        assert.deepEqual(duplicates.instance_uuid, first, type);
      }
      const { nodes: checked } = await checkNovaBm(database);
      const ids = Array.from(checked, ({ id }) => id).filter((id) => id !== OWNER);
      assert.deepEqual(ids, kept, type);
    }
  });

const UUID = "0a000000-0000-4000-8000-00000000000";

const INSTANCE = { instance_uuid: "b0000000-0000-4000-8000-000000000001" };

/** Machines by number, with what another one has in another spelling; 5 is deleted, its interfaces are not. */
const NODES = [
  { id: 1, uuid: `${UUID}1` },
  { id: 2, uuid: `${UUID}2` },
  { id: 3, uuid: `${UUID}3` },
  { id: 4, uuid: `${UUID}4`, service_host: "bm1 ", ...INSTANCE },
  { id: 5, uuid: `${UUID}5`, deleted: true, ...INSTANCE },
];
const ADDRESSES = [
  ["52:54:00:00:0a:01", 1],
  ["52-54-00-00-0A-01", 2],
  ["5254.0000.0a03", 3],
  ["52540000 0a03", 4],
  ["52:54:00:00:0A:04", 4],
  ["525400000a04", 5],
  ["525400000a05", 1],
  ["52:54:00:00:0a:05", 1],
  ["zz", 1],
  ["zzz", 2],
] as const;

for (const engine of engines())
  test(`on ${engine}, live machines that share a MAC are found however it is spelt, and no others`, async (t) => {
    const place = await withDatabase(engine, t);
    await createTables(place.db, loadTables("nova_bm"), { engine });
    await place.db("bm_nodes").insert(NODES.map((row) => ({ deleted: false, ...row })));
    const rows = ADDRESSES.map(([address, bm_node_id], at) => ({
      ...{ id: at + 1, address, bm_node_id, deleted: false },
    }));
    await place.db("bm_interfaces").insert(rows);
    const database = await openedAt(place.url, t, { readOnly: true });
    const machines: Machine[] = [];
    for await (const batch of readMachines(database, await readSchema(database), seal))
      machines.push(...batch.machines);
    assert.deepEqual(machines[4]?.duplicates.holders, [`${UUID}4`], "where its instance is now");
    assert.deepEqual(machines[3]?.duplicates.holders, []);
    const padded = engine === "mysql" ? "bm1" : "bm1 ";
    assert.equal(machines[3]?.node.service_host, padded, "as the server compares");
    assert.deepEqual(
      machines.map(({ node, duplicates }) => [node.id, duplicates.address]),
      [
        [1, { "52:54:00:00:0a:01": [2] }],
        [2, { "52:54:00:00:0a:01": [1] }],
        [3, {}],
        [4, {}],
        [5, {}],
      ],
    );
  });
