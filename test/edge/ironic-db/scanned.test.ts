import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadIronic } from "../../../src/demo/load-case.ts";
import { readDatabaseAddress } from "../../../src/edge/config/database-address.ts";
import { openDatabase } from "../../../src/edge/database/open.ts";
import { scannedTables } from "../../../src/edge/ironic-db/remove.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { withDatabase } from "../../lab/index.ts";
import { fleet } from "../../support/fleet.ts";

test("on PostgreSQL, tables are found that a deleted node makes the server read whole", async (t) => {
  const made = await withDatabase("postgresql", t);
  if (made === null) return;
  await loadIronic(made.db, "postgresql", fleet(2));
  const file = join(privateFolder(t), "url");
  writeFileSync(file, made.url, { mode: 0o600 });
  const role = { option: "--ironic-db", section: "database", key: "connection" };
  const address = await readDatabaseAddress(`file:${file}`, role, {});
  const database = await openDatabase(address, { readOnly: true });
  t.after(() => database.close());
  const ports = async () =>
    (await scannedTables(database)).filter(({ table }) => table === "ports");
  const [{ n }] = (await made.db.raw("SELECT count(*)::int AS n FROM ports")).rows;
  assert.deepEqual(await ports(), [{ table: "ports", column: "node_id", rows: n }]);
  await made.db.raw("CREATE INDEX tried ON ports (node_id)");
  assert.deepEqual(await ports(), []);
});
