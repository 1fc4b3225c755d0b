import assert from "node:assert/strict";
import { linkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { plannedCloud } from "../../migrate/nova/planned.ts";
import { dumpOf, rehearsing, restored } from "./scene.ts";

const ITSELF = /is the database that the plan was made for/;

for (const engine of engines())
  test(`on ${engine}, the plan's own databases are refused, and nothing is written`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { at, writer, novaWriter, nova, ironic } = made;
    const before = [await dumpOf(nova), await dumpOf(ironic)];
    await refused(["rehearse", ...at, ...writer, "--yes"], 4, "N2I-E351", [ITSELF]);
    const { url } = await restored(t, made, ironic);
    const words = ["rehearse", ...at, "--ironic-db", url, ...novaWriter.slice(0, 2), "--yes"];
    await refused(words, 4, "N2I-E351", [/--nova-db .* is the database that the plan/]);
    assert.deepEqual([await dumpOf(nova), await dumpOf(ironic)], before);
  });

testOnce("the plan's own database is refused under other names of its file", async (t) => {
  const { at, ironic, folder } = await rehearsing("sqlite", t);
  const [soft, hard] = [join(folder, "soft.sqlite"), join(folder, "hard.sqlite")];
  symlinkSync(ironic.name, soft);
  linkSync(ironic.name, hard);
  for (const path of [soft, hard]) {
    const words = ["rehearse", ...at, "--ironic-db", `sqlite:///${path}`, "--yes"];
    await refused(words, 4, "N2I-E351", [ITSELF]);
  }
});

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, the plan's own database is refused by another address of its server`, async (t) => {
    const { at, ironic, folder } = await rehearsing(engine, t);
    const { server, name } = ironic;
    assert.ok(server);
    const other = server.url(name).replace("127.0.0.1", "localhost");
    const socket =
      engine === "mysql"
        ? `mysql://${server.user}:${server.password}@localhost/${name}?unix_socket=${server.socket}`
        : `postgresql://${server.user}:${server.password}@/${name}?host=${server.socket}&port=${server.port}`;
    for (const [at_, url] of [other, socket].entries()) {
      const path = join(folder, `other-${at_}.url`);
      writeFileSync(path, url, { mode: 0o600 });
      const words = ["rehearse", ...at, "--ironic-db", `file:${path}`, "--yes"];
      await refused(words, 4, "N2I-E351", [ITSELF]);
    }
  });

for (const engine of engines())
  test(`on ${engine}, a database with a conductor that reported within a minute is refused`, async (t) => {
    const { words, copy } = await rehearsing(engine, t);
    const beat = (updated_at: unknown) =>
      copy.db("conductors").update({ updated_at, online: true });
    await copy.db("conductors").insert({ hostname: "alive", drivers: "[]", online: true });
    const now = new Date().toISOString().slice(0, 19).replace("T", " ");
    await beat(now);
    const before = await dumpOf(copy);
    await refused([...words, "--yes"], 4, "N2I-E351", [/ironic-conductor alive .*last minute/]);
    assert.equal(await dumpOf(copy), before);
    await beat("2014-06-01 12:00:00");
    await runs(0, [...words, "--yes"]);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a database with a nova-compute that reported within a minute is refused`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { url } = await restored(t, made, made.ironic);
    const nova = await restored(t, made, made.nova);
    const now = new Date().toISOString().slice(0, 19).replace("T", " ");
    await nova.copy.db("services").update({ updated_at: now });
    const words = ["rehearse", ...made.at, "--ironic-db", url, "--nova-db", nova.url, "--yes"];
    await refused(words, 4, "N2I-E351", [/--nova-db .* nova-compute \S+/]);
  });

testOnce("a file of connections names no copy: its databases are not used", async (t) => {
  const { at, folder, reader } = await rehearsing("sqlite", t);
  const config = join(folder, "nova2ironic.yaml");
  writeFileSync(config, `ironic_db: ${reader[1]}\n`, { mode: 0o600 });
  const words = ["rehearse", ...at, "--config", config, "--yes"];
  await refused(words, 4, "N2I-E352", [/no --ironic-db/]);
});

testOnce("a folder of the rehearsal's name that it did not make is not removed", async (t) => {
  const { words, run } = await rehearsing("sqlite", t);
  writeFileSync(join(run, "rehearsal"), "theirs");
  await refused([...words, "--yes"], 64, "N2I-E110", [/was not made by a rehearsal/]);
});
