import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { loadTables } from "../../src/run/files/load-tables.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { createTables } from "../../src/systems/database/create-tables.ts";
import { sqlalchemy } from "../lab/cloud/config.ts";
import { needs, withDatabase } from "../lab/index.ts";

const LIBRARY = join(packageRoot(), "grenade", "devstack", "lib", "nova2ironic");

for (const engine of ["mysql", "postgresql"] as const)
  test(`scripts of the upgrade read a database on ${engine}: live machines, and who reported of late`, async (t) => {
    const server = await needs(engine);
    const { db, name } = await withDatabase(engine, t);
    await createTables(db, loadTables("nova_bm"), { engine });
    for (const [uuid, deleted] of [
      ["live", false],
      ["gone", true],
    ] as const)
      await db("bm_nodes").insert({ uuid, deleted, pm_address: `${uuid} address` });
    await db.schema.createTable("services", (table) => {
      for (const column of ["host", "binary"]) table.string(column);
      table.integer("deleted");
      table.specificType("last_seen_up", engine === "mysql" ? "datetime" : "timestamp");
    });
    for (const [host, seconds] of [
      ["reports", 5],
      ["silent", 90],
    ] as const) {
      const last_seen_up = new Date(Date.now() - seconds * 1000).toISOString().slice(0, 19);
      await db("services").insert({ host, binary: "nova-compute", deleted: 0, last_seen_up });
    }
    const script = [
      `source "${LIBRARY}"`,
      'database_connection_url() { echo "$URL"; }',
      'n2i_sql nova_bm "SELECT uuid, pm_address FROM bm_nodes WHERE NOT deleted"',
      "N2I_HOST=reports n2i_reporting",
      "N2I_HOST=silent n2i_reporting",
    ];
    const { stdout, stderr } = spawnSync("bash", ["-c", script.join("\n")], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, URL: sqlalchemy(server, name) },
    });
    assert.equal(stdout, "live\tlive address\n1\n0\n", stderr);
  });
