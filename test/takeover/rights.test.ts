import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { loadNovaApi } from "../cases/load-case.ts";
import { ends, run } from "../hostile/cli.ts";
import { hideTables } from "../hostile/hidden.ts";
import { engines, test } from "../lab/engines.ts";
import { addressFile, type TestDatabase, withDatabase } from "../lab/index.ts";
import { type HostCloud, hostCloud, MOVE, PLAN, QUICK } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";

/** A file with the address of a user who has these rights on every table but one. */
async function without(
  { folder }: Pick<HostCloud, "folder">,
  database: TestDatabase,
  rights: string,
  hidden: string,
): Promise<string> {
  const account = await database.server?.restrictedUser("part", database.name, rights);
  assert.ok(account);
  await hideTables(database, account.user, rights, [hidden]);
  return addressFile(folder, hidden, account.url);
}

/** nova_api as far as a move reads it: all hosts of one cell, H2 in an aggregate besides. */
async function apiOf(t: TestContext, engine: Engine, version = 67): Promise<TestDatabase> {
  const made = await withDatabase(engine, t);
  const { db } = made;
  await loadNovaApi(db, engine, { version, flavors: [], extra_specs: [] });
  await db.schema.createTable("host_mappings", (table) => {
    table.increments("id");
    table.integer("cell_id");
    table.string("host");
  });
  await db.schema.createTable("aggregates", (table) => {
    table.increments("id");
    table.string("name");
  });
  await db.schema.createTable("aggregate_hosts", (table) => {
    table.increments("id");
    table.string("host");
    table.integer("aggregate_id");
  });
  await db("host_mappings").insert(["H1", "H2", "H3"].map((host) => ({ host, cell_id: 1 })));
  await db("aggregates").insert({ name: "rack" });
  await db("aggregate_hosts").insert({ host: "H2", aggregate_id: 1 });
  return made;
}

for (const engine of engines("mysql", "postgresql"))
  for (const [table, shape] of [
    ["migrations", "8f2f1571d55b"],
    ["aggregates", 254],
    ["aggregate_hosts", 254],
  ] as const)
    test(`on ${engine}, nothing is planned while ${table} may not be read: what is hidden stands against no machine`, async (t) => {
      const cloud = await hostCloud(t, { engine, shape });
      const nova = await without(cloud, cloud.made, "SELECT, UPDATE", table);
      const ran = await ends(12, run([...PLAN, ...cloud.at, "--nova-db", nova]));
      assert.match(ran.err, new RegExp(`N2I-E206 .*may not SELECT ${table}`));
      assert.match(ran.err, new RegExp(`run: GRANT SELECT ON \\S*${table} TO \\S+\\n`));
    });

for (const engine of engines("mysql", "postgresql"))
  for (const table of ["host_mappings", "aggregates"])
    test(`on ${engine}, nothing is planned while nova_api's ${table} may not be read`, async (t) => {
      const cloud = await hostCloud(t, { engine });
      const api = await without(cloud, await apiOf(t, engine), "SELECT", table);
      const ran = await ends(12, cloud.host(...PLAN, "--nova-api-db", api));
      const grant = new RegExp(`N2I-E206 .*: GRANT SELECT ON \\S*${table} TO \\S+\\n`, "s");
      assert.match(ran.err, grant);
    });

for (const engine of engines("mysql"))
  test("on mysql, no machine of nova-baremetal is planned while nova-network's tables may not be read", async (t) => {
    const cloud = await legacyCloud(t, { engine, machines: 1 });
    const { nova, made, places, folder } = cloud;
    await nova.schema.createTable("networks", (table) => {
      table.increments("id");
      table.dateTime("created_at");
      table.string("host");
      table.integer("deleted");
    });
    await nova("networks").insert({ host: "A", deleted: 0 });
    const hidden = await without(cloud, made.nova, "SELECT, UPDATE", "networks");
    const at = ["--run", join(folder, "runs", "h1"), ...places.slice(0, 2), "--nova-db", hidden];
    const words = ["--from", "A", "--to", "B", ...QUICK];
    const ran = await ends(12, run(["host", "plan", ...words, ...at]));
    assert.match(ran.err, /N2I-E206 .*may not SELECT networks/);
  });

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, rights that are missing are told as GRANT before anything is written`, async (t) => {
    const cloud = await hostCloud(t, { engine });
    await ends(0, cloud.host(...PLAN));
    const account = await cloud.made.server?.restrictedUser("reads", cloud.made.name, "SELECT");
    const nova = addressFile(cloud.folder, "reads", account?.url ?? "");
    const ran = await ends(12, run([...MOVE, ...cloud.at, "--nova-db", nova]));
    for (const table of ["compute_nodes", "instances", "services"])
      assert.match(ran.err, new RegExp(`GRANT UPDATE ON \\S*${table} TO `));
    assert.equal((await cloud.owners())[0], "1 H1 NULL H1");
  });

test("what --nova-api-db names is looked at before it is believed", async (t) => {
  const { host, made } = await hostCloud(t);
  const swapped = await ends(4, host(...PLAN, "--nova-api-db", made.url));
  assert.match(swapped.err, /N2I-E202 --nova-api-db .* is not a nova_api database/);
  const api = await apiOf(t, "sqlite");
  await api.db("migrate_version").update({ version: 7 });
  const early = await host(...PLAN, "--nova-api-db", api.url);
  assert.match(early.err, /N2I-E203 --nova-api-db .*Mitaka/);
  await api.db("migrate_version").update({ version: 67 });
  await api.db.schema.renameTable("aggregate_hosts", "elsewhere");
  const cut = await ends(4, host(...PLAN, "--nova-api-db", api.url));
  assert.match(cut.err, /aggregate_hosts/);
  await api.db.schema.renameTable("elsewhere", "aggregate_hosts");
  const planned = await ends(0, host(...PLAN, "--nova-api-db", api.url, "-f", "json"));
  assert.match(planned.out, /H1 is in aggregates none, H2 in 1/);
  await api.db("host_mappings").where({ host: "H2" }).update({ cell_id: 2 });
  const cells = await host(...PLAN, "--nova-api-db", api.url, "--force-aggregates", "-f", "json");
  assert.match(cells.out, /it is mapped to cell 2, H1 to cell 1/);
});
