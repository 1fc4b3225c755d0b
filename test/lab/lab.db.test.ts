import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVERS } from "./binaries.ts";
import { connect } from "./connect.ts";
import { needs } from "./index.ts";

/** Starts a server of its own, again on the same data, and again; then says where it is, and waits. */
const STARTER = `
  const { startMariadb, startPostgres } = await import("./start.js");
  const server = await (process.argv[1] === "mysql" ? startMariadb : startPostgres)("in memory");
  await server.newDatabase("kept");
  const kept = [];
  for (const _ of ["once", "twice"]) {
    await server.restart();
    kept.push(await server.hasDatabase("kept"));
  }
  console.log(JSON.stringify({ socket: server.socket, kept }));
  setInterval(() => {}, 1000);`;

for (const engine of ["mysql", "postgresql"] as const) {
  const { title, home } = SERVERS[engine];

  test(`${title} listens on loopback only, does not run as root, and lets nobody in without the password, which is on no command line`, async (t) => {
    const server = await needs(engine);
    const db = connect({ ...server, database: home });
    t.after(() => db.destroy());
    const [listens, pid] =
      engine === "mysql"
        ? [
            (await db.raw("SELECT @@bind_address AS value"))[0][0].value,
            readFileSync((await db.raw("SELECT @@pid_file AS value"))[0][0].value, "utf8").trim(),
          ]
        : [
            (await db.raw("SHOW listen_addresses")).rows[0].listen_addresses,
            (await db.raw("SELECT pg_backend_pid() AS value")).rows[0].value,
          ];
    assert.equal(listens, "127.0.0.1");
    assert.notEqual(statSync(`/proc/${pid}`).uid, 0);
    for (const line of commandLines()) assert.ok(!line.includes(server.password));
    for (const wrong of [{ password: "wrong" }, { user: "root", password: "wrong" }]) {
      const other = connect({ ...server, ...wrong, database: home });
      await assert.rejects(other.raw("SELECT 1"));
      await other.destroy();
    }
  });

  test(`${title} starts again on the same data, and it and its folder are gone when its starter is killed`, async (t) => {
    const words = ["--input-type=module", "-e", STARTER, engine];
    const starter = spawn(process.execPath, words, {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => starter.kill());
    const { value } = await createInterface(starter.stdout)[Symbol.asyncIterator]().next();
    const { socket, kept } = JSON.parse(String(value));
    assert.deepEqual(kept, [true, true]);
    const folder = String(socket).replace(/\/socket$/, "");
    assert.ok(existsSync(folder));
    starter.kill("SIGKILL");
    while (existsSync(folder)) await sleep(50);
    while (commandLines().some((line) => line.includes(folder))) await sleep(50);
  });
}

function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        // It ended meanwhile.
        return "";
      }
    });
}
