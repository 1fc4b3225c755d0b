import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Engine } from "../src/model/database.ts";
import type { Column, Table } from "../src/model/mapping.ts";
import { loadTables, tablesVersions } from "../src/run/files/load-tables.ts";
import { packageRoot } from "../src/run/files/package-root.ts";
import { createTables } from "../src/systems/database/create-tables.ts";
import { PROBE_COLUMN } from "../src/systems/database/rights.ts";
import { engines, test } from "./lab/engines.ts";
import { type TestDatabase, withDatabase } from "./lab/index.ts";

const MAPPINGS = join(packageRoot(), "mappings");
const VERSIONS: readonly Readonly<Parameters<typeof loadTables>>[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((version) => ["nova_bm", version] as const),
  ...tablesVersions("nova").map((version) => ["nova", version] as const),
  ...tablesVersions("nova_api").map((version) => ["nova_api", version] as const),
  ...tablesVersions("ironic").map((release) => ["ironic", release] as const),
];

/** What a type is called on PostgreSQL is seen in the first and the last version of each database. */
function versionsOn(engine: Engine): typeof VERSIONS {
  if (engine !== "postgresql") return VERSIONS;
  return VERSIONS.filter(
    ([name], at) => name !== VERSIONS[at - 1]?.[0] || name !== VERSIONS[at + 1]?.[0],
  );
}

test("every document of tables is as its schema says", () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
  const validate = ajv.compile(read(join(MAPPINGS, "schema", "tables.schema.json")));
  for (const file of readdirSync(join(MAPPINGS, "tables"))) {
    assert.ok(validate(read(join(MAPPINGS, "tables", file))), ajv.errorsText(validate.errors));
  }
});

test("what a document says of first and last versions names versions it has", () => {
  for (const file of readdirSync(join(MAPPINGS, "tables"))) {
    const text = readFileSync(join(MAPPINGS, "tables", file), "utf8");
    // The test above holds the document to its schema.
    const { versions } = JSON.parse(text) as { readonly versions: readonly unknown[] };
    JSON.parse(text, (key, value: unknown) => {
      if (key === "since" || key === "until")
        assert.ok(versions.includes(value), `${file}: ${key} ${String(value)}`);
      return value;
    });
  }
});

test("a version that a document does not tell of is refused", () => {
  assert.throws(() => loadTables("nova_bm", 11), RangeError);
  assert.throws(() => loadTables("ironic", "icehouse"), RangeError);
});

test("every table of nova, nova_api and Ironic has the column privileges are asked by", () => {
  for (const [name, version] of VERSIONS.filter(([of]) => of !== "nova_bm"))
    for (const [table, { columns }] of Object.entries(loadTables(name, version).tables))
      if (!/^(alembic|migrate)_version$/.test(table)) {
        const names = columns.map((column) => column.name);
        assert.ok(names.includes(PROBE_COLUMN), `${name} ${version} ${table}`);
      }
});

for (const engine of engines()) {
  test(`${engine} holds the columns of every version as the documents say`, async (t) => {
    for (const [name, version] of versionsOn(engine)) {
      await t.test(`${name} ${version}`, async (inner) => {
        const database = await withDatabase(engine, inner);
        const document = loadTables(name, version);
        await createTables(database.db, document, { engine });
        const found = await catalogue(database);
        for (const [table, { columns }] of Object.entries(document.tables)) {
          assert.deepEqual(found.get(table), columns.map(described(engine)), table);
        }
        assert.deepEqual(await database.db(document.version.table).first(), document.version.row);
      });
    }
  });

  test(`${engine} refuses a port of an unknown node and a second node of one uuid`, async (t) => {
    const database = await withDatabase(engine, t);
    const { db } = database;
    await createTables(db, loadTables("ironic", "2023.1"), { engine });
    if (engine === "sqlite") await db.raw("PRAGMA foreign_keys = ON");
    await assert.rejects(db("ports").insert({ node_id: 99 }), /foreign key/i);
    await db("nodes").insert({ uuid: "a" });
    await assert.rejects(db("nodes").insert({ uuid: "a" }), /unique|duplicate/i);
    const node = await db("nodes").first();
    assert.equal(node.conductor_group, "");
    assert.equal(Number(node.protected), 0);
    assert.equal(node.maintenance, null);
  });
}

interface Described {
  readonly name: string;
  readonly type: string;
  readonly null: boolean;
}

/** A column as the engine's catalogue tells it. */
function described(engine: Engine): (column: Column) => Described {
  const types: { readonly [type in Column["type"]]: readonly [string, string, string] } = {
    integer: ["int(11)", "integer", "integer"],
    bigint: ["bigint(20)", "bigint", "bigint"],
    string: ["varchar", "character varying", "varchar"],
    text: ["text", "text", "text"],
    mediumtext: ["mediumtext", "text", "text"],
    longtext: ["longtext", "text", "text"],
    boolean: ["tinyint(1)", "boolean", "boolean"],
    datetime: ["datetime", "timestamp without time zone", "datetime"],
    float: ["float", "double precision", "float"],
  };
  const [mysql, postgresql, sqlite] = [0, 1, 2] as const;
  const at = { mysql, postgresql, sqlite }[engine];
  return ({ name, type, length, null: nullable }) => ({
    name,
    type: type === "string" ? `${types[type][at]}(${length})` : types[type][at],
    null: nullable,
  });
}

/** The columns of each table, as the engine's catalogue tells them. */
async function catalogue(database: TestDatabase): Promise<ReadonlyMap<string, Described[]>> {
  const tables = new Map<string, Described[]>();
  for (const { table, ...column } of await columnsOf(database))
    tables.set(table, [...(tables.get(table) ?? []), column]);
  return tables;
}

async function columnsOf({ db, engine }: TestDatabase) {
  if (engine === "sqlite") {
    const rows: { table: string; name: string; type: string; notnull: number }[] = await db.raw(
      'SELECT t.name AS "table", c.name, c.type, c."notnull" FROM sqlite_master t, pragma_table_info(t.name) c ORDER BY t.name, c.cid',
    );
    return rows.map(({ table, name, type, notnull }) => ({
      ...{ table, name, type: type.toLowerCase(), null: notnull === 0 },
    }));
  }
  const mysql = engine === "mysql";
  const rows: readonly {
    readonly [name in "table" | "name" | "type" | "nullable" | "length"]: string;
  }[] = await db("information_schema.columns")
    .select({ table: "table_name", name: "column_name", nullable: "is_nullable" })
    .select({ type: mysql ? "column_type" : "data_type", length: "character_maximum_length" })
    .where({ table_schema: mysql ? db.raw("DATABASE()") : "public" })
    .orderBy(["table_name", "ordinal_position"]);
  return rows.map(({ table, name, type, length, nullable }) => ({
    ...{ table, name, null: nullable === "YES" },
    type: type === "character varying" ? `${type}(${length})` : type,
  }));
}

function read(path: string): Table {
  return JSON.parse(readFileSync(path, "utf8"));
}
