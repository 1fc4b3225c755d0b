import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import { ends, run, runs } from "../../hostile/cli.ts";
import { type Deployment, deploy, extractAndPlan } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { hideTables } from "../../hostile/hidden.ts";
import { checked, checkRows, checkSays } from "./check-output.ts";
import { cloud, IMAGES } from "./cloud.ts";
import { laterCloud } from "./later.ts";
import { plannedCloud } from "./planned.ts";
import { rowsOf, sameRows } from "./rows.ts";

const TRAITS = { ...SITE.machines[0].set, deploy_interface: "ramdisk", traits: ["CUSTOM_FAST"] };

/** What the row on privileges says, and what it has an administrator say. */
async function privileges({ at, source, reader }: Deployment, more: readonly string[] = []) {
  const words = [...at, ...source.slice(0, 4), ...reader, "--watch", "0", ...more];
  const { result, details } = (await checked(["check", ...words])).rows.get("Privileges") ?? {};
  return { result, details: details ?? "", grants: details?.match(/GRANT [^;\n]+/g) ?? [] };
}

/** Says each grant in the database that has its table. */
async function grant(statements: readonly string[], places: readonly Knex[]): Promise<void> {
  for (const statement of statements) {
    const taken = await Promise.allSettled(places.map((db) => db.raw(statement)));
    assert.ok(
      taken.some(({ status }) => status === "fulfilled"),
      statement,
    );
  }
}

for (const engine of ["mysql", "postgresql"] as const) {
  test(`on ${engine}, what check has granted is enough to apply and to roll back, and no less is asked`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { at, source, reader, nova, ironic } = made;
    const read = await privileges(made);
    assert.equal(read.result, 2, read.details);
    assert.match(read.details, /Ironic's database denies this user[^:]*: (INSERT|UPDATE) nodes/);
    assert.match(read.details, /nova's database denies .*UPDATE instances/);
    // An aggregate's new host is inserted, and its rollback deletes it.
    assert.match(read.grants.join("\n"), /INSERT, (UPDATE, )?DELETE ON \S*aggregate_hosts/);
    await grant(read.grants, [nova.db, ironic.db]);
    const held = await privileges(made);
    assert.deepEqual(held, { result: 0, details: "", grants: [] });
    const words = [...at, ...reader, ...source.slice(2, 4), "--watch", "0", "--yes", "-q"];
    await ends(0, run(["apply", ...words]));
    await ends(0, run(["rollback", ...words, "--all"]));
    await made.isAsBefore();
    const user = /(?<= TO )\S+$/.exec(
      read.grants.find((one) => one.includes("aggregate_hosts")) ?? "",
    )?.[0];
    const table = engine === "mysql" ? `\`${nova.name}\`.aggregate_hosts` : "aggregate_hosts";
    await nova.db.raw(`REVOKE DELETE ON ${table} FROM ${user}`);
    assert.match((await privileges(made)).details, /\(1\): DELETE aggregate_hosts\.\nFix: .*GRANT/);
    // What is not there no grant fixes, and it is no end of the check.
    await nova.db.schema.dropTable("block_device_mapping");
    const { details, result } = await privileges(made);
    assert.equal(result, 2);
    assert.match(
      details,
      /^Tables are missing in the database of --nova-db.* \(1\): block_device_mapping\.\nFix: /m,
    );
    assert.match(details, /\(1\): DELETE aggregate_hosts\./m);
  });

  test(`on ${engine}, traits that a load writes want rights of their own`, async (t) => {
    const site = { format: "nova2ironic/site@1", machines: [{ match: {}, set: TRAITS }] };
    const nova_bm = { nodes: [tenant(1)] };
    const ironic = { release: "2023.1" };
    const given = { shows: "a machine with traits", nova_bm, ironic, site, allow_pairing: true };
    const made = await deploy(engine, t, given);
    const { at, reader } = made;
    await extractAndPlan(made);
    const read = await privileges(made);
    assert.match(read.grants.join("\n"), /INSERT, DELETE ON \S*node_traits/);
    await grant(read.grants, [made.ironic.db]);
    assert.deepEqual((await privileges(made)).details, "");
    await runs(0, ["apply", ...at, ...reader, "--yes", "-q"]);
    assert.equal((await made.ironic.db("node_traits")).length, 1);
    await runs(0, ["rollback", ...at, ...reader, "--all", "--yes", "-q"]);
    assert.deepEqual(await made.ironic.db("nodes"), []);
  });

  test(`on ${engine}, rights on Nova's rows and on children of nodes are asked for`, async (t) => {
    const given = cloud({ machines: 1, others: 0, release: "2023.1" });
    const made = await deploy(engine, t, given);
    const { source, reader, novaWriter, ironic, users } = made;
    await extractAndPlan(made, ...source.slice(2, 4), ...IMAGES);
    const may = { ...made, source: [...source.slice(0, 2), ...novaWriter.slice(0, 2)] };
    await checkSays(may, "Privileges", /^Success/);
    await checkSays(
      made,
      "Privileges",
      /^Failure: .* \(\d\): .*UPDATE instance_type_extra_specs.*GRANT/s,
    );
    const children = engine === "mysql" ? 3 : 5;
    const lacking = new RegExp(
      `^Failure: .* \\(${6 + children}\\): INSERT nodes, .* and ${3 + children} more`,
    );
    await checkSays({ ...made, writer: reader }, "Privileges", lacking);
    if (engine === "mysql") return;
    await ironic.db.raw(`REVOKE DELETE ON node_history FROM "${users.writer}"`);
    await checkSays(made, "Privileges", /^Failure: .* \(1\): DELETE node_history\./);
  });

  test(`on ${engine}, the same is true of flavors of nova_api`, async (t) => {
    const made = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const { at, source, writer, api, apiReader } = made;
    const may = { ...made, reader: writer };
    assert.match((await privileges(may)).details, /not checked\..*specify --nova-api-db$/s);
    const read = await privileges(may, apiReader);
    assert.match(
      read.details,
      /^Statements that nova_api's .* \([34]\): INSERT \S+, UPDATE \S+, DELETE flavor_extra_specs/,
    );
    await grant(read.grants, [api.db]);
    assert.deepEqual((await privileges(may, apiReader)).details, "");
    const before = await rowsOf(api);
    const nova = [...source.slice(2, 4), ...apiReader, "--watch", "0"];
    const words = [...at, ...writer, ...nova, "--yes", "-q"];
    await ends(0, run(["apply", ...words]));
    await ends(0, run(["rollback", ...words, "--all"]));
    sameRows(await rowsOf(api), before);
  });
}

/** A clock an hour ahead of every server's. */
const AHEAD = {
  NODE_OPTIONS: "--import=data:text/javascript,const%20n=Date.now;Date.now=()=>n()+36e5",
};

/** Options of two databases more, whatever is in them. */
function laterOptions({ source, reader }: Deployment): readonly string[] {
  return ["--nova-api-db", source[3] ?? "", "--placement-db", reader[1] ?? ""];
}

for (const engine of ["mysql", "postgresql"] as const) {
  test(`on ${engine}, the clock of each server that is given is looked at`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 1, others: 0 }));
    const right = await checkRows(made, laterOptions(made));
    assert.match(right("Clock skew"), /^Success/);
    assert.match(right("Galera state"), /^Success: No server is in a Galera cluster/);
    const wrong = (await checkRows(made, laterOptions(made), AHEAD))("Clock skew");
    assert.match(wrong, /^Failure: Clocks .* \(5\): .*\nFix: run chronyc makestep/);
    for (const option of ["--nova-bm", "--nova", "--ironic", "--nova-api", "--placement"])
      assert.match(wrong, new RegExp(`[ ]${option}-db by -(35\\d\\d|3600)\\.\\d s`));
  });

  test(`on ${engine}, a table of nova that may not be read is no table without rows`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 2, others: 0, version: 302 }));
    const { nova, users } = made;
    const hidden = ["migrations", "block_device_mapping"];
    await hideTables(nova, users.nova, "SELECT", hidden);
    const rows = await checkRows(made, ["--allow-pairing"]);
    if (engine === "mysql") {
      // MySQL lists only tables its user may do something with.
      for (const [at, title] of ["Evacuation records", "Attached volumes"].entries())
        assert.match(rows(title), new RegExp(`^Warning: .*GRANT SELECT on ${hidden[at]}`, "s"));
      return;
    }
    assert.match(rows("Privileges"), /^Failure: N2I-E206 reading block_device_mapping/);
    assert.match(rows("Pairing of releases"), /^Warning: Not checked: --nova-db was not read\.\n/);
    assert.match(rows("Deployments in flight"), /^Warning: Not checked: --nova-db/);
    const grants = rows("Privileges").match(/GRANT [^;\n]+/g) ?? [];
    assert.equal(grants.length, 2);
    for (const grant of grants) await nova.db.raw(grant);
    const held = await checkRows(made, ["--allow-pairing"]);
    for (const title of ["Evacuation records", "Attached volumes", "Deployments in flight"])
      assert.match(held(title), /^Success/);
  });
}

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
