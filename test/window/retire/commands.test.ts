import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { dumpOf } from "../rehearse/scene.ts";
import { finishedRun } from "./scene.ts";

const TABLES = ["bm_interfaces", "bm_nodes", "migrate_version"];

for (const engine of engines())
  test(`on ${engine}, retire changes nothing, and what it prints drops the tables of nova_bm alone`, async (t) => {
    const { words, bm } = await finishedRun(engine, t);
    await bm.db.raw("CREATE TABLE racks (id integer)");
    const before = await dumpOf(bm);
    const { out } = await runs(0, words);
    assert.equal(await dumpOf(bm), before);
    const statements = out.match(/^DROP TABLE .*;$/gm) ?? [];
    assert.deepEqual(
      statements,
      TABLES.map((name) => `DROP TABLE ${name};`),
    );
    for (const statement of statements) await bm.db.raw(statement);
    assert.equal(await dumpOf(bm), JSON.stringify([["racks", []]]));
  });

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, the printed command dumps nova_bm with a password file`, async (t) => {
    const { at, reader, bm, folder } = await finishedRun(engine, t);
    assert.ok(bm.server);
    const { password } = bm.server;
    const url = join(folder, "owner.url");
    writeFileSync(url, bm.url, { mode: 0o600 });
    const { out } = await runs(0, ["retire", ...at, "--nova-bm-db", `file:${url}`, ...reader]);
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

testOnce("a rollback of a finished run asks for nova_bm's dump", async (t) => {
  const { at, writer } = await finishedRun("sqlite", t);
  const rollback = ["rollback", ...at, ...writer, "--all"];
  const fix = [/If you dropped nova_bm, restore its dump first/];
  await refused(rollback, 4, "N2I-E321", fix);
});
