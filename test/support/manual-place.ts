import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Case } from "../cases/case.ts";
import { writeCase, writeTree } from "../cases/write-case.ts";
import { deploy, privateFolder } from "../hostile/deployment.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import type { IronicAt } from "../lab/ironic/start.ts";
import { restored } from "../window/rehearse/scene.ts";
import { novaTree } from "./boot.ts";
import { runIn } from "./in-process.ts";

/** Where a deployment's databases are: addresses, and statements of the test's own. */
interface Databases {
  readonly folder: string;
  readonly urls: { readonly bm: string; readonly nova: string; readonly ironic: string };
  /** Addresses of restored backups. */
  readonly copies: { readonly nova: string; readonly ironic: string };
  readonly sql: (text: string) => Promise<unknown>;
  readonly nova: (text: string) => Promise<unknown>;
}

interface Options {
  /** Ironic as it runs; the sources are on its server then. */
  readonly ironic?: IronicAt;
  /** Release of what `config` prints for the new nova-compute. */
  readonly release?: string;
}

/** Three healthy machines, one of them with the uuid the manual speaks of. */
export const CASE: Case = {
  shows: "what the manual's commands work on",
  power: true,
  nova_bm: {
    nodes: [
      {
        id: 1,
        uuid: "7f0c1a52-3b6a-4b7a-9f2e-2b1d1f7f0001",
        instance_uuid: "b0000000-0000-4000-8000-000000000001",
        task_state: "active",
      },
      { id: 2, service_host: "compute-2" },
      { id: 3 },
    ],
  },
  tftp: { "compute-1": novaTree(1), "compute-2": { "pxelinux.cfg": null } },
  nova_conf: { "compute-1": { flavor_extra_specs: "cpu_arch:x86_64" }, "compute-2": {} },
};

export async function place(
  t: TestContext,
  given: Case,
  site: string,
  { ironic, release = "kilo" }: Options = {},
) {
  const ids = given.nova_bm.nodes.map(({ id }) => Number(id));
  const farm = await withBmcs(
    t,
    ids.map((id) => ({ users: [{ name: "admin", password: `bmc-secret-${id}` }], power: true })),
    // A real conductor asks them, too.
    ironic === undefined ? "here" : "port 623",
  );
  const nodes = given.nova_bm.nodes.map((node, at) => ({
    ...node,
    pm_address: farm.addresses[at] ?? "",
  }));
  const made = { ...given, nova_bm: { nodes } };
  const databases = await (ironic === undefined ? onFiles(t, made) : onServers(t, made, ironic));
  const { folder, sql, nova } = databases;
  const etc = join(folder, "etc");
  await writeFiles(databases, etc, release);
  writeFileSync(join(etc, "site.yaml"), site);
  writeFileSync(join(folder, "site.yaml"), site);
  const local = (word: string): string => localised(word, folder);
  return {
    sql,
    folder,
    async nova(...texts: readonly string[]) {
      for (const text of texts) await nova(text);
    },
    /** A file of connections, as a page shows it. */
    connections(text: string): void {
      const mine = local(text).replace(/\bcompute-\d\b(?!:)(?=[,\]])/g, "127.0.0.1:1");
      writeFileSync(join(folder, "nova2ironic.yaml"), mine, { mode: 0o600 });
    },
    async runs(words: readonly string[], status = 0) {
      const ran = await run(folder, [...words.map(local), ...answers(words)]);
      assert.equal(ran.status, status, `${words.join(" ")}\n${ran.text}`);
      return ran;
    },
  };
}

/** What a person says on a terminal, and a night needs no test to wait for. */
function answers(words: readonly string[]): readonly string[] {
  const acts = ["apply", "rehearse", "boot", "rollback", "handover", "finish"].includes(
    words[0] ?? "",
  );
  if (words[0] === "run") return ["--yes", "--watch", "1"];
  if (!acts || words.includes("--plan")) return [];
  const watches = ["apply", "rollback"].includes(words[0] ?? "");
  return ["--yes", ...(watches ? ["--watch", "0"] : [])];
}

/** Paths of the manual, where this deployment has them. */
function localised(text: string, folder: string): string {
  const etc = join(folder, "etc");
  return text
    .replaceAll(/\/etc\/(nova|ironic)\//g, `${etc}/`)
    .replaceAll("/var/log/ironic/", `${etc}/`)
    .replaceAll("/root/confs/", `${etc}/`)
    .replaceAll(/\/root\/tftp\/compute-(\d)/g, (_, host) =>
      join(folder, `tftp-${Number(host) - 1}`),
    )
    .replaceAll("/root/", `${etc}/`)
    .replace(/^compute-\d$/, "127.0.0.1:1")
    .replace(/^\/tftpboot$/, join(folder, "tftpboot"));
}

/** nova.conf, ironic.conf and what else an operator has. */
async function writeFiles({ folder, urls, copies }: Databases, etc: string, release: string) {
  mkdirSync(etc);
  mkdirSync(join(folder, "tftpboot"));
  writeFileSync(join(etc, "nova.conf"), `[baremetal]\nsql_connection = ${urls.bm}\n`);
  writeFileSync(join(etc, "ironic.conf"), `[database]\nconnection = ${urls.ironic}\n`);
  writeFileSync(join(etc, "nova.url"), `${urls.nova}\n`, { mode: 0o600 });
  for (const [name, url] of Object.entries(copies))
    writeFileSync(join(etc, `${name}-copy.url`), `${url}\n`, { mode: 0o600 });
  for (const name of ["ironic-conductor.log", "conductor-1.conf"])
    writeFileSync(join(etc, name), "");
  // As its operator made it of what `config` prints.
  const { text: settings } = await run(folder, ["config", "--ironic-release", release]);
  const own = settings.replaceAll("CHANGE_ME", "known");
  writeFileSync(join(etc, "ironic-compute.conf"), `[DEFAULT]\nhost = ironic-compute\n${own}`);
  for (const [at, host] of ["compute-1", "compute-2"].entries())
    writeFileSync(join(etc, `${host}.conf`), readFileSync(join(folder, `nova-${at}.conf`)));
}

async function onFiles(t: TestContext, given: Case): Promise<Databases> {
  const folder = privateFolder(t);
  await writeCase(given, folder);
  const open = (name: string) => {
    const db = connect({ engine: "sqlite", database: join(folder, `${name}.sqlite`) });
    t.after(() => db.destroy());
    return (text: string) => db.raw(text);
  };
  const url = (name: string): string => `sqlite:////${join(folder, `${name}.sqlite`).slice(1)}`;
  for (const name of ["nova", "ironic"])
    copyFileSync(join(folder, `${name}.sqlite`), join(folder, `${name}-copy.sqlite`));
  return {
    folder,
    urls: { bm: url("nova_bm"), nova: url("nova"), ironic: url("ironic") },
    copies: { nova: url("nova-copy"), ironic: url("ironic-copy") },
    ...{ sql: open("ironic"), nova: open("nova") },
  };
}

/** nova_bm and nova on MariaDB, and this Ironic's own database. */
async function onServers(t: TestContext, given: Case, at: IronicAt): Promise<Databases> {
  // The site document is the page's.
  const made = await deploy("mysql", t, { ...given, site: {} });
  const mariadb = await needs("mysql");
  const { folder } = made;
  for (const [host, entries] of Object.values(given.tftp ?? {}).entries())
    writeTree(join(folder, `tftp-${host}`), entries);
  const url = (role: string): string => readFileSync(join(folder, `${role}.url`), "utf8").trim();
  const rights = "SELECT, INSERT, UPDATE, DELETE";
  const { url: ironic } = await mariadb.restrictedUser("night", at.database, rights);
  const db = connect({ ...mariadb, database: at.database });
  t.after(() => db.destroy());
  return {
    folder,
    urls: { bm: url("bm"), nova: url("writes"), ironic },
    copies: {
      nova: (await restored(t, made, made.nova)).copy.url,
      ironic: await restoredIronic(t, made, { ...made.ironic, name: at.database, db }),
    },
    sql: (text) => db.raw(text),
    nova: (text) => made.nova.db.raw(text),
  };
}

/** Its conductors reported long ago. */
async function restoredIronic(...[t, made, database]: Parameters<typeof restored>) {
  const { copy } = await restored(t, made, database);
  await copy.db("conductors").update({ updated_at: "2014-06-01 12:00:00" });
  return copy.url;
}

async function run(cwd: string, words: readonly string[]) {
  const { status, out, err } = await runIn(cwd, words);
  return { status, text: out + err };
}
