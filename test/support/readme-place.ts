import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Case } from "../../src/demo/case.ts";
import { writeCase } from "../../src/demo/write-case.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { connect } from "../lab/connect.ts";
import { run as runIn } from "../power/deployed.ts";

/** The deployment README speaks of; null after the test was told to skip itself. */
export async function place(t: TestContext, given: Case, site: string) {
  const ids = given.nova_bm.nodes.map(({ id }) => Number(id));
  const farm = await withBmcs(
    t,
    ids.map((id) => ({ users: [{ name: "admin", password: `bmc-secret-${id}` }], power: true })),
  );
  if (farm === null) return null;
  const nodes = given.nova_bm.nodes.map((node, at) => ({
    ...node,
    pm_address: farm.addresses[at] ?? "",
  }));
  const folder = mkdtempSync(join(tmpdir(), "n2i-readme-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await writeCase({ ...given, nova_bm: { nodes } }, folder);
  const etc = join(folder, "etc");
  mkdirSync(etc);
  mkdirSync(join(folder, "tftpboot"));
  const db = (name: string): string => `sqlite:////${join(folder, name).slice(1)}`;
  writeFileSync(join(etc, "nova.conf"), `[baremetal]\nsql_connection = ${db("nova_bm.sqlite")}\n`);
  writeFileSync(join(etc, "ironic.conf"), `[database]\nconnection = ${db("ironic.sqlite")}\n`);
  writeFileSync(join(etc, "nova.url"), `${db("nova.sqlite")}\n`, { mode: 0o600 });
  writeFileSync(join(etc, "ironic-conductor.log"), "");
  // As its operator made it of what `config` prints.
  const { text: settings } = await run(folder, ["config", "--ironic-release", "kilo"]);
  const own = settings.replaceAll("CHANGE_ME", "known");
  writeFileSync(join(etc, "ironic-compute.conf"), `[DEFAULT]\nhost = ironic-compute\n${own}`);
  for (const [at, host] of ["compute-1", "compute-2"].entries())
    writeFileSync(join(etc, `${host}.conf`), readFileSync(join(folder, `nova-${at}.conf`)));
  writeFileSync(join(folder, "site.yaml"), site);
  const local = (word: string): string =>
    word
      .replace(/\/etc\/(nova|ironic)\//, `${etc}/`)
      .replace("/var/log/ironic/", `${etc}/`)
      .replace("/root/confs/", `${etc}/`)
      .replace(/\/root\/tftp\/compute-(\d)/, (_, host) => join(folder, `tftp-${Number(host) - 1}`))
      .replace("/root/", `${etc}/`)
      .replace(/^compute-\d$/, "127.0.0.1:1")
      .replace(/^\/tftpboot$/, join(folder, "tftpboot"));
  const nowhere = { host: "", port: 0, user: "", password: "" };
  const [ironic, nova] = ["ironic", "nova"].map((name) =>
    connect({ ...nowhere, engine: "sqlite", database: join(folder, `${name}.sqlite`) }),
  ) as [Knex, Knex]; // one each
  t.after(() => Promise.all([ironic.destroy(), nova.destroy()]));
  return {
    sql: (text: string) => ironic.raw(text),
    async nova(...texts: readonly string[]) {
      for (const text of texts) await nova.raw(text);
    },
    async runs(words: readonly string[], status = 0) {
      const writes =
        ["apply", "boot", "rollback", "handover", "finish"].includes(words[0] ?? "") &&
        !words.includes("--plan");
      const told = writes
        ? ["--yes", ...(words.includes("--nova-db") ? ["--watch", "0"] : [])]
        : [];
      const ran = await run(folder, [...words.map(local), ...told]);
      assert.equal(ran.status, status, `${words.join(" ")}\n${ran.text}`);
      return ran;
    },
  };
}

async function run(
  cwd: string,
  words: readonly string[],
): Promise<{ readonly status: number; readonly text: string }> {
  const { code, out, err } = await runIn(cwd, words, { bare: true });
  return { status: code, text: out + err };
}
