import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_SITE } from "../src/migrate/mapping/cross-check.ts";
import { createOrigins } from "../src/migrate/transform/compile.ts";
import { compileProgram } from "../src/migrate/transform/node.ts";
import { loadTables } from "../src/run/files/load-tables.ts";
import { fleets } from "./support/arbitrary.ts";
import { lostBy } from "./support/lost.ts";
import { mappings, planned, withCase } from "./support/planned-case.ts";
import { holdsLater } from "./support/seeded.ts";

test("every machine and interface of a generated fleet is loaded, or told of", async () => {
  await holdsLater(15, fleets, (given) =>
    withCase(given, async (at) => {
      await planned(at);
      assert.deepEqual(await lostBy(at), []);
    }),
  );
});

/** Columns of nova_bm at a version, as a snapshot's header has them. */
function columnsAt(version: number): Readonly<Record<string, readonly string[]>> {
  const { tables } = loadTables("nova_bm", version);
  return Object.fromEntries(
    ["bm_nodes", "bm_interfaces"].map((table) => [
      table,
      (tables[table]?.columns ?? []).map(({ name }) => name),
    ]),
  );
}

test("every column of every nova_bm version is read or dropped with a reason, for every driver and release", () => {
  const unread: string[] = [];
  let looked = 0;
  for (const release of mappings.releases) {
    const mapping = mappings.forRelease(release, NO_SITE);
    for (const driver of mapping.drivers.drivers) {
      const drops = [mapping.rules.drops, driver.drops].flatMap(Object.entries);
      for (const [column, why] of drops)
        assert.ok(why.length > 5, `${column} is dropped without a reason`);
      for (let version = 1; version <= 10; version += 1) {
        const columns = columnsAt(version);
        const program = compileProgram(mapping, driver, columns, createOrigins());
        // The rules that hold in this release only: a rule for a column it lacks reads nothing.
        const read = new Set([
          ...[...program.node, ...program.port].flatMap(({ alternatives }) =>
            alternatives.map(({ input: place, field }) => `${place}.${field}`),
          ),
          ...Object.keys(mapping.rules.reads),
          ...drops.map(([column]) => column),
        ]);
        const all = Object.entries(columns).flatMap(([table, names]) =>
          names.map((name) => `${table}.${name}`),
        );
        looked += all.length;
        const lost = [...all.filter((column) => !read.has(column)), ...program.unread];
        unread.push(
          ...lost.map(
            (column) => `${column} at ${version}, ${driver.name} on ${release.doc.release}`,
          ),
        );
      }
    }
  }
  assert.deepEqual(unread, []);
  assert.ok(looked > 5000, `${looked} columns were looked at`);
});
