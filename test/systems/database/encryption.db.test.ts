import assert from "node:assert/strict";
import dns from "node:dns";
import { chownSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { TLSSocket } from "node:tls";
import type { Knex } from "knex";
import { MigrationError } from "../../../src/lib/error.ts";
import { type Database, openDatabase } from "../../../src/systems/database/open.ts";
import { ungranted } from "../../../src/systems/database/rights.ts";
import {
  askNumber,
  integer,
  type RawRow,
  select,
  text,
  time,
} from "../../../src/systems/database/rows.ts";
import { defining, writing } from "../../../src/systems/database/write.ts";
import { connect } from "../../lab/connect.ts";
import { needs, withDatabase } from "../../lab/index.ts";
import { startMariadb, startPostgres } from "../../lab/start.ts";
import { authority, type Pair } from "../../support/certificates.ts";
import { portOf } from "../../support/listening.ts";
import { addressAt, openedAt } from "../../support/opened.ts";

const ENCRYPTED = {
  mysql: "SHOW STATUS LIKE 'Ssl_cipher'",
  postgresql: "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
  sqlite: "",
};

/** What the server says of the line to it, once it was opened. */
async function line(url: string): Promise<string> {
  const database = await openDatabase(await addressAt(url), { readOnly: true });
  try {
    const [row] = await select(database, ENCRYPTED[database.engine]);
    return String(row?.ssl ?? row?.Value);
  } finally {
    await database.close();
  }
}

for (const [engine, home, clear, required, said] of [
  ["postgresql", "postgres", ["disable", "allow", "prefer"], "require", "false"],
  ["mysql", "mysql", ["PREFERRED"], "REQUIRED", ""],
] as const)
  test(`${engine} without TLS is spoken to in clear where the mode allows it, and not where TLS is required`, async () => {
    const server = await needs(engine);
    const option = engine === "mysql" ? "ssl_mode" : "sslmode";
    const url = `${server.url(home)}?${option}=`;
    for (const mode of clear) assert.equal(await line(url + mode), said, mode);
    await assert.rejects(line(url + required), { code: "N2I-E200" });
    const wrong = url.replace(server.password, "wrong");
    await assert.rejects(line(wrong + clear.at(-1)), { code: "N2I-E201" });
  });

test("PostgreSQL that lets nobody in without TLS is spoken to with it, but where it is disabled", async (t) => {
  const server = await startPostgres("in memory");
  t.after(() => server.stop());
  const data = join(server.socket, "data");
  const files = { ssl_key_file: join(data, "n2i.key"), ssl_cert_file: join(data, "n2i.crt") };
  const { key, cert } = authority(t).signs("DNS:db", 2);
  writeFileSync(files.ssl_key_file, key, { mode: 0o600 });
  writeFileSync(files.ssl_cert_file, cert);
  const { uid, gid } = statSync(data);
  for (const file of Object.values(files)) chownSync(file, uid, gid);
  writeFileSync(join(data, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n");
  const admin = connect({ ...server, database: "postgres" });
  for (const [name, value] of Object.entries({ ...files, ssl: "on" }))
    await admin.raw(`ALTER SYSTEM SET ${name} = '${value}'`);
  await admin.raw("SELECT pg_reload_conf()");
  await admin.destroy();
  const encrypted = (): Promise<string> => line(`${server.url("postgres")}?sslmode=require`);
  // The reload is a signal: it was heard once TLS is spoken.
  while ((await encrypted().catch(() => "")) !== "true");
  for (const mode of ["allow", "prefer"])
    assert.equal(await line(`${server.url("postgres")}?sslmode=${mode}`), "true", mode);
  for (const [mode, code] of [
    ["disable", "N2I-E201"],
    ["verify-full", "N2I-E200"],
  ] as const)
    await assert.rejects(line(`${server.url("postgres")}?sslmode=${mode}`), { code }, mode);
});

/** A MySQL 5.7 with TLS: protocol 10, its version, a thread, a nonce in two parts, what it can do. */
const GREETING = Buffer.concat([
  Buffer.from([10]),
  Buffer.from("5.7.40\0"),
  Buffer.from([1, 0, 0, 0]),
  Buffer.from("12345678\0"),
  Buffer.from([0xff, 0xff, 33, 2, 0, 0xff, 0x81, 21]),
  Buffer.alloc(10),
  Buffer.from("123456789012\0mysql_native_password\0"),
]);

/** Says hello in clear, as far as TLS, and no word after it; what it is told there by the client. */
async function speaking(t: TestContext, engine: string, pair: Pair) {
  let heard = 0;
  const server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    if (engine === "mysql")
      socket.write(Buffer.concat([Buffer.from([GREETING.length, 0, 0, 0]), GREETING]));
    // What follows the wish for TLS may come with it, and is TLS.
    socket.once("readable", () => {
      socket.read(engine === "mysql" ? 36 : 8);
      if (engine === "postgresql") socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, ...pair });
      secure.on("error", () => undefined);
      secure.on("data", ({ length }) => {
        heard += length;
        secure.destroy();
      });
    });
  });
  return { port: await portOf(t, server), heard: () => heard };
}

type InspectedRows = (
  error: null,
  address: string | readonly dns.LookupAddress[],
  family?: number,
) => void;

const FULL = {
  mysql: ["ssl_mode=VERIFY_IDENTITY&ssl_ca=", "ssl_mode=VERIFY_CA&ssl_ca="],
  postgresql: ["sslmode=verify-full&sslrootcert=", "sslmode=verify-ca&sslrootcert="],
};

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server of another name is told nothing where its name is to be verified`, async (t) => {
    // No machine has to know a name for this.
    t.mock.method(dns, "lookup", (_name: string, ...rest: readonly unknown[]) => {
      const { all = false } = Object(rest[0]);
      const done = rest.at(-1) as InspectedRows;
      if (all) done(null, [{ address: "127.0.0.1", family: 4 }]);
      else done(null, "127.0.0.1", 4);
    });
    const ca = authority(t);
    const [full, some] = FULL[engine];
    for (const [names, host, query, told] of [
      ["DNS:nova-db.example", "nova-db.example", full, true],
      ["IP:127.0.0.1", "127.0.0.1", full, true],
      ["DNS:other.example", "nova-db.example", full, false],
      ["DNS:nova-db.example", "127.0.0.1", full, false],
      ["IP:127.0.0.2", "127.0.0.1", full, false],
      ["DNS:other.example", "127.0.0.1", some, true],
    ] as const) {
      const { port, heard } = await speaking(t, engine, ca.signs(names, 1));
      const url = `${engine}://nova:secret@${host}:${port}/nova?${query}${ca.file}`;
      const error = await openedAt(url, t).catch((cause: unknown) => cause);
      assert.ok(error instanceof MigrationError && error.code === "N2I-E200", String(error));
      assert.equal(heard() > 0, told, `${names} at ${host}: ${error.message}`);
    }
  });

async function one(database: Database, sql: string, values: readonly unknown[] = []) {
  const [row] = await select(database, sql, values);
  return row ?? ({} as RawRow);
}

test("on postgresql, what a database sets for its sessions changes nothing read or written", async (t) => {
  const made = await withDatabase("postgresql", t);
  for (const setting of [
    "datestyle='German'",
    "array_nulls=off",
    "bytea_output='escape'",
    "client_encoding='LATIN1'",
    "idle_in_transaction_session_timeout='1s'",
    "default_transaction_isolation='serializable'",
  ])
    await made.db.raw(`ALTER DATABASE ${made.name} SET ${setting}`);
  const database = await openedAt(made.url, t);
  const row = await one(
    database,
    "SELECT timestamp '2014-05-01 10:00:00' AS at, '\\x01'::bytea AS bytes, (?::text[])[1] IS NULL AS none, '€' AS euro, current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('transaction_isolation') AS level",
    [[null]],
  );
  assert.equal(time(row.at), "2014-05-01 10:00:00");
  assert.equal(text(row.bytes), "\u0001");
  assert.equal(row.none, true, "NULL in an array is not the word");
  assert.equal(row.euro, "€");
  assert.equal(row.idle, "0");
  assert.equal(row.level, "read committed");
});

test("on mysql, what a server sets for its sessions changes nothing read or written", async (t) => {
  const server = await startMariadb("in memory"); // its own: the settings are the whole server's
  t.after(() => server.stop());
  await server.newDatabase("session");
  const account = await server.restrictedUser("tool", "session", "SELECT, INSERT");
  const db = connect({ ...server, database: "session" });
  t.after(() => db.destroy());
  await db.raw("CREATE TABLE words (word VARCHAR(9)) CHARACTER SET utf8mb4");
  await db.raw("INSERT INTO words VALUES ('€'), ('€')");
  for (const setting of [
    "init_connect='SET NAMES latin1'",
    "autocommit=0",
    "completion_type=1",
    "sql_select_limit=1",
    "sql_mode='ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
    "unique_checks=0",
    "idle_transaction_timeout=1",
    "wait_timeout=1",
  ])
    await db.raw(`SET GLOBAL ${setting}`);
  const database = await openedAt(account.url, t);
  const words = await select(database, "SELECT word FROM words");
  const texts = words.map(({ word }) => word);
  assert.deepEqual(texts, ["€", "€"]);
  const said = `q'uo"te\\ back% ?? :b`;
  const row = await one(
    database,
    "SELECT ? AS said, @@autocommit AS auto, @@unique_checks AS checks, @@idle_transaction_timeout AS idle, @@wait_timeout AS wait, @@completion_type AS chain",
    [said],
  );
  assert.equal(row.said, said);
  assert.deepEqual([row.auto, row.checks, row.idle].map(integer), [1, 1, 0]);
  assert.equal(integer(row.wait), 28_800);
  assert.equal(row.chain, "NO_CHAIN");

  await t.test("nor is a replica written to by those whom its server would let", async () => {
    await db.raw("SET GLOBAL read_only=1");
    const url = server.url("session");
    const replica = await openedAt(url, t);
    const add = (trx: Knex) => trx.raw("INSERT INTO words VALUES ('added')");
    await assert.rejects(writing(replica, add), { code: "N2I-E206" });
    const wanted = new Map([["words", new Set(["INSERT"] as const)]]);
    await assert.rejects(ungranted(replica, wanted), { code: "N2I-E206" });
    const table = "CREATE TABLE more (word VARCHAR(9))";
    await assert.rejects(defining(replica, "making a table", table), { code: "N2I-E206" });
    await assert.rejects(openedAt(url, t, { readOnly: false, autocommit: true }), {
      code: "N2I-E206",
    });
    assert.equal(await askNumber(replica, "counting", "SELECT count(*) FROM words"), 2);
    assert.equal((await db.raw("SHOW TABLES"))[0].length, 1);
  });
});

test("text of a Latin-1 and of a four-byte column reads the same whatever charset the address names", async (t) => {
  const made = await withDatabase("mysql", t, "latin1");
  await made.db.raw("CREATE TABLE kept (a TEXT, b TEXT CHARACTER SET utf8mb4)");
  await made.db("kept").insert({ a: "p\u00e4ss", b: "\u{1f511}" });
  for (const query of ["", "?charset=utf8", "?charset=latin1", "?charset=utf8mb4&use_unicode=0"]) {
    const database = await openedAt(`${made.url}${query}`, t, { readOnly: true });
    const rows = await database.knex("kept").select();
    assert.deepEqual(rows, [{ a: "p\u00e4ss", b: "\u{1f511}" }], query);
  }
});
