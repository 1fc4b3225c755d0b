import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableNames } from "../../../src/systems/database/identity.ts";
import { ends, refused, run, runs } from "../../hostile/cli.ts";
import { digest } from "../../hostile/digest.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { deploySecrets } from "../../hostile/secrets-case.ts";
import { engines, test } from "../../lab/engines.ts";
import { addressFile } from "../../lab/index.ts";
import { asDatabase } from "../../migrate/nova/rows.ts";
import { finishedRun } from "./scene.ts";

const TABLES = ["bm_interfaces", "bm_nodes", "migrate_version"];
const DROPS = TABLES.map((name) => `DROP TABLE ${name};`);

for (const engine of engines())
  test(`on ${engine}, retire changes nothing, and what it prints drops the tables of nova_bm alone`, async (t) => {
    const { words, bm } = await finishedRun(engine, t);
    await bm.db.raw("CREATE TABLE racks (id integer)");
    const before = await digest(bm);
    const { out } = await runs(0, words);
    assert.equal(await digest(bm), before);
    const statements = out.match(/^DROP TABLE .*;$/gm) ?? [];
    assert.deepEqual(statements, DROPS);
    for (const statement of statements) await bm.db.raw(statement);
    assert.deepEqual(await tableNames(asDatabase(bm.db, engine)), new Set(["racks"]));
  });

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, the printed command dumps nova_bm with a password file`, async (t) => {
    const { at, reader, bm, folder } = await finishedRun(engine, t);
    assert.ok(bm.server);
    const { password } = bm.server;
    const url = addressFile(folder, "owner", bm.url);
    const { out } = await runs(0, ["retire", ...at, "--nova-bm-db", url, ...reader]);
    const [command] = /^umask 077; .*$/m.exec(out) ?? assert.fail(out);
    assert.ok(!out.includes(password));
    const [file, secret] =
      engine === "mysql"
        ? ["nova_bm.cnf", `[client]\npassword=${password}\n`]
        : ["nova_bm.pgpass", `*:*:*:*:${password}\n`];
    writeFileSync(join(folder, file), secret, { mode: 0o600 });
    execFileSync("sh", ["-c", command], { cwd: folder, stdio: "inherit" });
    assert.match(readFileSync(join(folder, "nova_bm.sql"), "utf8"), /CREATE TABLE .*bm_nodes/);
    assert.equal(statSync(join(folder, "nova_bm.sql")).mode & 0o077, 0);
  });

test("a rollback of a finished run asks for nova_bm's dump", async (t) => {
  const { at, writer } = await finishedRun("sqlite", t);
  const rollback = ["rollback", ...at, ...writer, "--all"];
  const fix = [/If you dropped nova_bm, restore its dump first/];
  await refused(rollback, 4, "N2I-E321", fix);
});

const ADDED = ["bm_boot_records", "bm_locks", "bm_service_leases"];

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a nova_bm with leases is extracted, and its tables are among those to drop`, async (t) => {
    const made = await finishedRun(engine, t);
    const { words, bm, source, folder } = made;
    const place = ["--nova-bm-db", addressFile(folder, "owner", bm.url)];
    const schema = ["host", "schema"];
    await ends(2, run([...schema, "status", ...place]));
    const added = await runs(0, [...schema, "extend", ...place]);
    const says = /^Added to nova_bm of .*: bm_.*bm_nodes\.service_epoch.* is 10, as before\.$/m;
    assert.match(added.out, says);
    assert.match((await runs(0, [...schema, "extend", ...place])).out, /^Nothing to add/m);
    assert.match((await runs(0, [...schema, "status", ...place])).out, /^Present: .*bm_locks/m);
    await refused([...schema, "widen", ...place], 64, "N2I-E100", [/extend, status, revert/]);
    await refused([...schema, "extend"], 64, "N2I-E100", [/--nova-bm-db/]);

    // What an agent and a move wrote is nothing of the machine, and nothing that changed since.
    await bm.db("bm_nodes").where({ id: 1 }).update({ service_epoch: 3, service_heartbeat_ms: 5 });
    await bm.db("bm_locks").insert({ resource: "host:a", token: 7 });
    const again = join(folder, "runs", "again");
    const extracted = await runs(0, ["extract", "--run", again, ...source]);
    assert.doesNotMatch(extracted.out + extracted.err, /N2I-D008|service_epoch/);
    const planned = ["plan", "--run", again, ...made.reader, ...made.plan, "--allow-other-nodes"];
    assert.match((await runs(0, planned)).out, /0 in conflict; 0 blocked/);
    const { out } = await runs(0, words);
    for (const table of ADDED) assert.match(out, new RegExp(`^DROP TABLE ${table};$`, "m"));
    // As nova-baremetal adds a machine: what it does not name has a default.
    await bm.db("bm_nodes").insert({ id: 900, deleted: false });
    const [row] = await bm.db("bm_nodes").where({ id: 900 });
    assert.equal(Number(row.service_epoch), 0);
    await bm.db("bm_nodes").where({ id: 900 }).delete();
    await refused([...schema, "revert", ...place], 4, "N2I-E303", [/--yes/]);
    assert.match((await runs(0, [...schema, "revert", ...place, "--yes"])).out, /^Removed from/m);
    assert.match((await runs(0, [...schema, "revert", ...place, "--yes"])).out, /^Nothing to/m);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, retire prints no secret`, async (t) => {
    const made = await deploySecrets(engine, t, (secret) => ({
      shows: "secrets of nova_bm",
      nova_bm: {
        columns: { bm_nodes: { vendor_password: "varchar(255)" } },
        nodes: [
          tenant(1, { pm_password: secret("pm_password"), deploy_key: secret("deploy_key") }),
          { id: 2, pm_password: secret("second"), vendor_password: secret("fork's") },
          { id: 3, deleted: true, pm_password: secret("deleted") },
        ],
      },
      nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
      site: { ...SITE, drop: { "bm_nodes.vendor_password": "the vendor's tool is gone" } },
    }));
    const { at, source, reader, writer, plan } = made;
    const retire = ["retire", ...at, ...source.slice(0, 2)];
    for (const [status, words] of [
      [0, ["extract", ...at, ...source]],
      [0, ["plan", ...at, ...reader, ...plan]],
      [0, ["apply", ...at, ...writer, "--yes"]],
      [4, [...retire, ...reader, "--debug"]],
      [0, ["finish", ...at, ...writer, "--yes"]],
      [0, [...retire, ...reader, "--debug"]],
    ] as const)
      await made.silently(status, words);
  });
