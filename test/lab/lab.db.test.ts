import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVERS, type ServerEngine } from "./binaries.ts";
import { connect } from "./connect.ts";
import { needs, withDatabase } from "./index.ts";
import { startMariadb } from "./mariadb.ts";
import { startPostgres } from "./postgres.ts";

const ENGINES = ["mysql", "postgresql"] as const;
const START: { readonly [engine in ServerEngine]: string } = {
  mysql: `const { startMariadb: start } = await import("./mariadb.js");`,
  postgresql: `const { startPostgres: start } = await import("./postgres.js");`,
};

for (const engine of ENGINES) {
  const { title, home } = SERVERS[engine];

  test(`${title} listens on loopback only and does not run as root`, async (t) => {
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
  });

  test(`${title}'s password is on no command line and nobody enters without it`, async () => {
    const server = await needs(engine);
    for (const line of commandLines()) assert.ok(!line.includes(server.password));
    for (const wrong of [{ password: "wrong" }, { user: "root", password: "wrong" }]) {
      const db = connect({ ...server, ...wrong, database: home });
      await assert.rejects(db.raw("SELECT 1"));
      await db.destroy();
    }
  });

  test(`a restricted user of ${title} reads and cannot write`, async (t) => {
    const database = await withDatabase(engine, t);
    if (database?.server == null) return;
    await database.db.schema.createTable("things", (table) => table.integer("id"));
    const account = await database.server.restrictedUser("reader", database.name, "SELECT");
    const db = connect({ ...database.server, ...account, database: database.name });
    t.after(() => db.destroy());
    assert.deepEqual(await db("things"), []);
    await assert.rejects(db("things").insert({ id: 1 }), /denied/);
  });

  test(`a test's database on ${title} is gone when the test is`, async (t) => {
    const server = await needs(engine);
    let name = "";
    await t.test("a test with a database", async (inner) => {
      const database = await withDatabase(engine, inner);
      name = database?.name ?? "";
      await database?.db.raw("SELECT 1");
    });
    const db = connect({ ...server, database: name });
    await assert.rejects(db.raw("SELECT 1"), /does not exist|Unknown database/);
    await db.destroy();
  });

  test(`${title} starts again on the same data, and again`, async (t) => {
    if ((await needs(engine)) === null) return;
    const start = { mysql: startMariadb, postgresql: startPostgres }[engine];
    const server = await start("in memory");
    t.after(server.stop);
    await server.newDatabase("kept");
    for (const _ of ["once", "twice"]) {
      await server.restart();
      assert.ok(await server.hasDatabase("kept"));
    }
  });

  test(`${title} and its folder are gone when its starter is killed`, async () => {
    if ((await needs(engine)) === null) return;
    const script = `${START[engine]}
      const { socket } = await start("in memory");
      console.log(socket);
      setInterval(() => {}, 1000);`;
    const starter = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [socket] = await once(starter.stdout.setEncoding("utf8"), "data");
    const folder = String(socket)
      .trim()
      .replace(/\/socket$/, "");
    assert.ok(existsSync(folder));
    starter.kill("SIGKILL");
    await gone(() => existsSync(folder));
    await gone(() => commandLines().some((line) => line.includes(folder)));
  });
}

test("a test's SQLite file is gone when the test is", async (t) => {
  let path = "";
  await t.test("a test with a file", async (inner) => {
    const database = await withDatabase("sqlite", inner);
    await database?.db.schema.createTable("things", (table) => table.integer("id"));
    path = database?.name ?? "";
    assert.ok(existsSync(path));
  });
  assert.ok(!existsSync(path));
});

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

/** Waits until a thing is not there any more. The guard of the file ends a hang. */
async function gone(there: () => boolean): Promise<void> {
  while (there()) await sleep(50);
}
