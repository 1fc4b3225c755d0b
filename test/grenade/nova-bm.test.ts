import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Column, Table } from "../../src/model/mapping.ts";
import { loadTables } from "../../src/run/files/load-tables.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";

test("nova_bm.sql makes the tables that nova-baremetal's own migrations leave: columns, defaults, keys", () => {
  const text = readFileSync(join(packageRoot(), "grenade", "legacy", "nova_bm.sql"), "utf8");
  const made = [...text.matchAll(/^CREATE TABLE (\w+) \((.*?)^\)/gms)].map(
    ([, name = "", body = ""]) => [
      name,
      // A comma within brackets parts a key's columns.
      body.split(/,(?![^(]*\))/).map((line) => line.trim().replaceAll(/\s+/g, " ")),
    ],
  );
  const { tables, version } = loadTables("nova_bm");
  const known = Object.entries(tables).map(([name, table]) => [name, declared(table)]);
  assert.deepEqual(Object.fromEntries(made), Object.fromEntries(known));
  assert.deepEqual(
    text.match(/^INSERT INTO .*;$/gm),
    [version].map(
      ({ table, row }) =>
        `INSERT INTO ${table} VALUES (${Object.values(row).map(literal).join(", ")});`,
    ),
  );
});

function declared({ columns, primary, unique, index }: Table): readonly string[] {
  const keys = (kind: string, all: Table["index"]) =>
    all.map(({ name, columns: of }) => `${kind} ${name ?? of[0]} (${of.join(", ")})`);
  return [
    ...columns.map((column) =>
      [
        ...[column.name, type(column)],
        ...(column.null ? [] : ["NOT NULL"]),
        ...(column.auto ? ["AUTO_INCREMENT"] : []),
        ...(primary.includes(column.name) ? ["PRIMARY KEY"] : []),
        ...(column.default === undefined ? [] : [`DEFAULT ${literal(column.default)}`]),
      ].join(" "),
    ),
    ...keys("UNIQUE KEY", unique),
    ...keys("KEY", index),
  ];
}

function type({ type: own, length }: Column): string {
  const types: { readonly [name: string]: string } = {
    integer: "int",
    boolean: "tinyint(1)",
    string: `varchar(${length})`,
  };
  return types[own] ?? own;
}

function literal(value: string | number | boolean): string {
  return typeof value === "string" ? `'${value}'` : String(Number(value));
}
