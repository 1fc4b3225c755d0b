import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, run } from "../../hostile/cli.ts";
import { hideTables } from "../../hostile/hidden.ts";
import { checkRows } from "./check-output.ts";
import { plannedCloud } from "./planned.ts";

const TABLES = ["instance_actions", "instance_actions_events"];

test("who may not read the requests of Nova neither plans nor applies, and check has them granted", async (t) => {
  const made = await plannedCloud("mysql", t);
  const { nova, users, at, reader, source, plan } = made;
  for (const table of TABLES)
    await nova.db.schema.createTable(table, (made) => made.increments("id"));
  for (const [role, rights] of [
    ["nova", "SELECT"],
    ["writes", "SELECT, INSERT, UPDATE, DELETE"],
  ] as const)
    await hideTables(nova, users[role], rights, TABLES);
  const said = (await checkRows(made))("Privileges");
  for (const table of TABLES) assert.match(said, new RegExp(`GRANT SELECT ON \\S*\\.${table} TO`));
  const hosts = ["--compute-host", "another-host"];
  const planned = await run([
    ...["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...hosts, "-q"],
  ]);
  assert.match(planned.err, /N2I-E206.*instance_actions/);
  const applied = await ends(12, made.act(["apply"]));
  assert.match(applied.err, /N2I-E206.*instance_actions/);
});
