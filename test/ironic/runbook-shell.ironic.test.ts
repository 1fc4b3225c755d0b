import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { loadNova, loadNovaBm } from "../cases/load-case.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { binaries } from "../lab/binaries.ts";
import { tool } from "../lab/bmc/tools.ts";
import { sqlalchemy } from "../lab/cloud/config.ts";
import { connect } from "../lab/connect.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import type { Server } from "../lab/server.ts";
import { startMariadb, startPostgres } from "../lab/start.ts";
import { page } from "../support/manual.ts";
import { CASE } from "../support/manual-place.ts";
import { LINES, linesWith, typed } from "../support/shell-lines.ts";
import { native } from "./native.ts";

/** Of which a test runs each line: here, and those of images in nova/real. */
const RUN = [
  "ironic-dbsync",
  "mysqldump",
  "pg_dump",
  "rsync",
  "openstack image create",
  "conductor-1.patch",
  "ironic-compute.patch",
  "scheduler.patch",
];

test("what the runbook has typed to a shell is run by a test, but for what starts and stops services", () => {
  const others = LINES.filter((line) => !RUN.some((word) => line.includes(word)));
  for (const line of others) assert.match(line, /^systemctl (start|stop|restart) /);
});

test("the runbook's lines make Ironic's tables, and copies of databases that restore", async (t) => {
  // The lines name databases as operators do: on a server of their own.
  const server = await startMariadb("in memory");
  t.after(server.stop);
  const folder = privateFolder(t);
  const names = ["nova_bm", "nova", "nova_api", "ironic"];
  for (const name of [...names, "again"]) await server.newDatabase(name, "utf8mb3");
  await loadNovaBm(open(t, server, "nova_bm"), "mysql", CASE, "utf8mb3");
  await loadNova(open(t, server, "nova"), "mysql", CASE, "utf8mb3");
  const conf = join(folder, "ironic.conf");
  const connection = sqlalchemy(server, "ironic");
  writeFileSync(conf, `[database]\nconnection = ${connection}\n`, { mode: 0o600 });
  for (const line of linesWith("ironic-dbsync"))
    typed(folder, line.replace("/etc/ironic/ironic.conf", conf));
  assert.equal((await open(t, server, "ironic")("nodes")).length, 0);
  const { host, port, user, password } = server;
  const login = `[client]\nhost=${host}\nport=${port}\nuser=${user}\npassword=${password}\n`;
  writeFileSync(join(folder, ".my.cnf"), login, { mode: 0o600 });
  for (const line of linesWith("mysqldump")) typed(folder, line);
  for (const name of names) {
    const dump = readFileSync(join(folder, `${name}.sql`), "utf8")
      .trimEnd()
      .split("\n");
    assert.match(dump.at(-1) ?? "", /Dump completed/, name);
  }
  typed(folder, "mariadb again <nova_bm.sql");
  assert.equal((await open(t, server, "again")("bm_nodes")).length, CASE.nova_bm.nodes.length);
});

test("the runbook's lines make copies of databases on PostgreSQL", async (t) => {
  const server = await startPostgres("in memory");
  t.after(server.stop);
  const folder = privateFolder(t);
  const names = ["nova_bm", "nova", "nova_api", "ironic"];
  for (const name of names) await server.newDatabase(name);
  await loadNovaBm(open(t, server, "nova_bm"), "postgresql", CASE);
  const { host, port, user, password } = server;
  const PATH = `${dirname(binaries("postgresql").server)}:${process.env.PATH}`;
  const env = { PATH, PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password };
  for (const line of linesWith("pg_dump")) typed(folder, line, env);
  for (const name of names)
    assert.match(readFileSync(join(folder, `${name}.pg.sql`), "utf8"), /dump complete\n/, name);
  assert.match(readFileSync(join(folder, "nova_bm.pg.sql"), "utf8"), /^COPY public.bm_nodes /m);
});

test("the runbook's lines copy the boot files of each host", (t) => {
  const folder = privateFolder(t);
  const remote = join(folder, "remote");
  // As ssh does, on this very host.
  writeFileSync(remote, '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o700 });
  mkdirSync(join(folder, "tftp"));
  for (const line of linesWith("rsync")) {
    const hosts = /for host in (.*?);/.exec(line)?.[1]?.split(" ") ?? [];
    assert.ok(hosts.length > 1, line);
    for (const host of hosts) {
      const tree = join(folder, "hosts", host, "pxelinux.cfg");
      mkdirSync(tree, { recursive: true });
      writeFileSync(join(tree, "default"), host);
    }
    const there = line.replace("/tftpboot/", `${folder}/hosts/$host/`);
    typed(folder, there, { RSYNC_RSH: remote });
    for (const host of hosts)
      assert.equal(readFileSync(join(folder, "tftp", host, "pxelinux.cfg/default"), "utf8"), host);
  }
});

/** A folder with the program for this release, and the PATH to it and to patch(1). */
function withProgram(t: TestContext, release: string) {
  const folder = privateFolder(t);
  const main = join(packageRoot(), "dist/src/cli/main.js");
  // Settings to change are exit 2.
  const runs = `${process.execPath} ${main} "$@" --ironic-release ${release} || [ $? -eq 2 ]`;
  writeFileSync(join(folder, "nova2ironic"), `#!/bin/sh\n${runs}\n`, { mode: 0o700 });
  return { folder, PATH: `${folder}:${dirname(tool("patch"))}:${process.env.PATH}` };
}

test("the runbook's lines make patches for nova-compute and nova-scheduler", (t) => {
  const { folder, PATH } = withProgram(t, "queens");
  for (const [name, setting] of [
    ["ironic-compute", /^compute_driver = ironic/m],
    ["scheduler", /^host_manager = ironic_host_manager$/m],
  ] as const) {
    const file = join(folder, `${name}.conf`);
    writeFileSync(file, "[DEFAULT]\ncompute_driver = nova.virt.baremetal.driver.BareMetalDriver\n");
    for (const line of linesWith(`${name}.patch`))
      typed(folder, line.replace(`/root/confs/${name}.conf`, file), { PATH });
    typed(folder, `patch ${file} < ${name}.patch`, { PATH });
    assert.match(readFileSync(file, "utf8"), setting, name);
  }
});

test("the runbook's lines patch a conductor's ironic.conf and its copy, and restore both", (t) => {
  const { folder, PATH } = withProgram(t, "2023.1");
  const [copy, own] = ["copy.conf", "own.conf"].map((name) => join(folder, name));
  const conf = "[conductor]\nperiodic_max_workers = 8\n";
  for (const file of [copy, own]) writeFileSync(file ?? "", conf);
  const contents = () => [copy, own].map((file) => readFileSync(file ?? "", "utf8"));
  const lines = linesWith("conductor-1.patch");
  for (const line of lines) {
    const here = line.replaceAll("/root/confs/conductor-1.conf", copy ?? "");
    typed(folder, here.replaceAll("/etc/ironic/ironic.conf", own ?? ""), { PATH });
    const [one = "", other] = contents();
    if (!line.includes("-R")) assert.match(one, line.includes("config") ? /= 8\n/ : /= 40\n/);
    if (line.includes("patch /etc")) assert.equal(other, one);
  }
  assert.deepEqual([lines.length, ...contents()], [5, conf, conf]);
});

test("the morning's look lists what is in maintenance, by Ironic's own client", async (t) => {
  const ironic = await needsIronic(t);
  const [line = ""] = /openstack baremetal [^`]*/.exec(page("runbook")) ?? [];
  const api = apiOf(ironic);
  await native({ api });
  const folder = privateFolder(t);
  const listed = () =>
    typed(folder, `${line} -f value -c Name`, { OS_AUTH_TYPE: "none", OS_ENDPOINT: ironic.url });
  assert.equal(listed().trim(), "");
  const put = await api("PUT", "/v1/nodes/native/maintenance", { reason: "looked at" });
  assert.equal(put.status, 202, JSON.stringify(put.body));
  assert.equal(listed().trim(), "native");
});

function open(t: TestContext, server: Server, database: string) {
  const db = connect({ ...server, database });
  t.after(() => db.destroy());
  return db;
}
