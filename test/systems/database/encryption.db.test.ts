import assert from "node:assert/strict";
import { chownSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openDatabase } from "../../../src/systems/database/open.ts";
import { select } from "../../../src/systems/database/rows.ts";
import { connect } from "../../lab/connect.ts";
import { needs } from "../../lab/index.ts";
import { startPostgres } from "../../lab/postgres.ts";
import { authority } from "../../support/certificates.ts";
import { addressAt } from "../../support/opened.ts";

const ENCRYPTED = {
  mysql: "SHOW STATUS LIKE 'Ssl_cipher'",
  postgresql: "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
  sqlite: "",
};

/** What the server says of the line to it, once it was opened. */
async function line(url: string): Promise<string> {
  const database = await openDatabase(await addressAt(url), { readOnly: true });
  try {
    const [row] = await select(database, database.knex, ENCRYPTED[database.engine]);
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
